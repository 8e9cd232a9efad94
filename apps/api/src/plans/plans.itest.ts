import { randomUUID } from 'node:crypto';
import type { StepFrame } from '@coxswain/api-types';
import { aJobSpec, anAttempt } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { SECOND_MS } from '@coxswain/units';
import type { SharedPostgres } from '@coxswain/test-harness';
import { SeriesStore } from '../series/series-store.ts';
import { aPlanRequest } from '../testing/a-plan-request.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

let postgres: SharedPostgres;
let api: ApiUnderTest;
let token: string;
let foreignToken: string;
let viewerToken: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({ databaseUrl: await postgres.createDatabase('plans') });
  token = await api.project('research');
  foreignToken = await api.project('rivals');
  viewerToken = (
    await api.send('POST', '/v1/projects/research/tokens', {
      token: api.adminToken,
      body: { name: 'reader', role: 'viewer' },
    })
  ).body.token;
});

afterAll(async () => {
  await api?.close();
});

const plansOf = (project: string): string => `/v1/projects/${project}/plans`;
const PLANS = plansOf('research');
const post = (body: unknown, as: string = token, headers: Record<string, string> = {}): Promise<TestAnswer> =>
  api.send('POST', PLANS, { token: as, body, headers });
const get = (path: string, as: string = token, project = 'research'): Promise<TestAnswer> =>
  api.send('GET', `${plansOf(project)}${path}`, { token: as });
const graphql = (query: string, variables: object, as: string = token): Promise<TestAnswer> =>
  api.send('POST', '/graphql', { token: as, body: { query, variables } });

/** TorchTitan chooses operations, or computes every layer again. */
const UNTOLD = { stack: 'torchtitan', pinned: { recompute: 'half' } };

describe('a plan', () => {
  it('is made, kept and read again, and runs nothing', async () => {
    const made = await post(aPlanRequest());
    expect(made).toMatchObject({ status: 201, body: { project: 'research', request: { cluster: { gpus: 8 } } } });
    const { stepTimeS, interval } = made.body.answer.best.prediction;
    expect(interval.lowS).toBeGreaterThan(0);
    expect(interval.lowS).toBeLessThan(stepTimeS);
    expect(interval.highS).toBeGreaterThan(stepTimeS);
    expect(made.body.answer.plans).toHaveLength(3);
    expect((await get(`/${made.body.id}`)).body).toEqual(made.body);
    expect((await api.running.infrastructure.database.query('SELECT 1 FROM jobs')).rows).toEqual([]);
  });

  it('by GraphQL is the same, and the other door shows it', async () => {
    const { body } = await graphql(
      'mutation ($input: PlanRequestInput!) { createPlan(project: "research", input: $input) { id answer { best { gpus microBatchSize prediction { interval { lowS highS standsOn rows } } } } } }',
      { input: aPlanRequest() },
    );
    expect(body.errors).toBeUndefined();
    const read = await get(`/${body.data.createPlan.id}`);
    expect(read.body.answer.best).toMatchObject(body.data.createPlan.answer.best);
  });

  it('with an Idempotency-Key is made once, and the key is good for no other request', async () => {
    const headers = { 'idempotency-key': 'what-if' };
    const first = await post(aPlanRequest(), token, headers);
    const again = await post(aPlanRequest(), token, headers);
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(await post(aPlanRequest({ globalBatchSize: 128 }), token, headers)).toMatchObject({
      status: 422,
      body: { code: 'IDEMPOTENCY_KEY_REUSED' },
    });
    const storm = await Promise.all(
      Array.from({ length: 6 }, () => post(aPlanRequest(), token, { 'idempotency-key': 'storm' })),
    );
    const made = storm.filter(({ status }) => status === 201);
    expect(new Set(made.map(({ body }) => body.id)).size).toBe(1);
    expect(storm.every(({ status }) => [201, 409].includes(status))).toBe(true);
  });

  it('that was forgotten is made anew under its Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'forgotten' };
    const first = await post(aPlanRequest(), token, headers);
    await api.running.infrastructure.database.query('DELETE FROM plans WHERE id = $1', [first.body.id]);
    const again = await post(aPlanRequest(), token, headers);
    expect(again).toMatchObject({ status: 201, body: { answer: first.body.answer } });
    expect(again.body.id).not.toBe(first.body.id);
    expect((await post(aPlanRequest(), token, headers)).body).toEqual(again.body);
  });

  it('is listed newest first, page by page', async () => {
    await Promise.all([1, 2, 3].map(() => post(aPlanRequest())));
    const seen: string[] = [];
    let pageToken = '';
    do {
      const { body } = await get(`?pageSize=2${pageToken === '' ? '' : `&pageToken=${pageToken}`}`);
      seen.push(...body.items.map((item: { createdAt: string }) => item.createdAt));
      pageToken = body.nextPageToken ?? '';
    } while (pageToken !== '');
    expect(seen.length).toBeGreaterThanOrEqual(3);
    expect(seen).toEqual(seen.toSorted().reverse());
  });

  it('is listed with the interval that it was answered with, or without one where it was kept before there were any', async () => {
    const { id, answer } = (await post(aPlanRequest())).body;
    const listed = async (): Promise<object> =>
      (await get('')).body.items.find((item: { id: string }) => item.id === id);
    const { stepTimeS, interval } = answer.best.prediction;
    expect(await listed()).toMatchObject({
      predictedStepMs: stepTimeS * SECOND_MS,
      predictedStepLowMs: interval.lowS * SECOND_MS,
      predictedStepHighMs: interval.highS * SECOND_MS,
    });
    const { body } = await graphql(
      '{ plans(project: "research") { items { id predictedStepLowMs predictedStepHighMs } } }',
      {},
    );
    expect(body.data.plans.items).toContainEqual({
      id,
      predictedStepLowMs: interval.lowS * SECOND_MS,
      predictedStepHighMs: interval.highS * SECOND_MS,
    });
    await api.running.infrastructure.database.query(
      `UPDATE plans SET answer = answer #- '{best,prediction,interval}' WHERE id = $1`,
      [id],
    );
    expect(await listed()).toMatchObject({ predictedStepMs: stepTimeS * SECOND_MS });
    expect(await listed()).not.toHaveProperty('predictedStepLowMs');
  });

  it.each([
    ['a model that is said twice', aPlanRequestWith({ model: 'gpt-3-175b' }), '/model'],
    ['no model', { ...aPlanRequest(), modelShape: undefined }, '/model'],
    ['more GPUs than there can be', aPlanRequestWith({ cluster: { gpu: 'h100', gpus: 1_000_000 } }), '/cluster/gpus'],
    ['a field that there is not', aPlanRequestWith({ gpus: 8 }), '/gpus'],
    ['a batch of nothing', aPlanRequestWith({ globalBatchSize: 0 }), '/globalBatchSize'],
    ['a pin that its engine cannot be told', aPlanRequestWith(UNTOLD), '/pinned/recompute'],
  ])('with %s is refused, and the field is named', async (_what, body, pointer) => {
    const answer = await post(body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
  });

  it('with a pin that its engine cannot be told is refused by GraphQL with what it takes', async () => {
    const { body } = await graphql(
      'mutation ($input: PlanRequestInput!) { createPlan(project: "research", input: $input) { id } }',
      { input: aPlanRequestWith(UNTOLD) },
      token,
    );
    expect(body.errors[0]).toMatchObject({
      message: expect.stringMatching(/torchtitan does not support recompute half; use one of none, operations, full/),
      extensions: { code: 'INVALID_REQUEST' },
    });
  });

  it('for a GPU that the planner does not know is refused with the nearest names', async () => {
    const answer = await post(aPlanRequestWith({ cluster: { gpu: 'h1000', gpus: 8 } }));
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    expect(answer.body.detail).toMatch(/h100/);
  });
});

function aPlanRequestWith(fields: object): object {
  return { ...aPlanRequest(), ...fields };
}

describe('the addresses of plans that named no project', () => {
  it.each([
    ['POST', '/v1/plans?project=research'],
    ['GET', '/v1/plans'],
    ['GET', '/v1/plans/accuracy'],
    ['GET', `/v1/plans/${randomUUID()}`],
  ] as const)('%s %s is answered where plans are now', async (method, path) => {
    const answer = await api.send(method, path, { token, ...(method === 'POST' ? { body: aPlanRequest() } : {}) });
    expect(answer).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    expect(answer.body.detail).toMatch(/plans belong to projects.*\/v1\/projects\/\{project\}\/plans/);
  });
});

describe('who may plan', () => {
  it('is the project of the token: its plans are nobody else’s', async () => {
    const { body } = await post(aPlanRequest());
    const strange = await get(`/${body.id}`, foreignToken, 'rivals');
    const missing = await get(`/${randomUUID()}`, foreignToken, 'rivals');
    expect([strange.status, missing.status]).toEqual([404, 404]);
    expect(strange.body.detail.replace(body.id, '')).toBe(missing.body.detail.replace(/[0-9a-f-]{36}/, ''));
    expect((await get('', foreignToken, 'rivals')).body.items).toEqual([]);
    expect((await get('', foreignToken)).status).toBe(404);
    expect((await get(`/${body.id}`, foreignToken)).status).toBe(404);
    expect((await get('/accuracy', foreignToken)).status).toBe(404);
    const elsewhere = await api.send('POST', plansOf('rivals'), { token, body: aPlanRequest() });
    expect(elsewhere.status).toBe(404);
  });

  it('is nobody with a role that only reads', async () => {
    expect(await post(aPlanRequest(), viewerToken)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    const byGraphql = await graphql(
      'mutation ($input: PlanRequestInput!) { createPlan(project: "research", input: $input) { id } }',
      { input: aPlanRequest() },
      viewerToken,
    );
    expect(byGraphql.body.errors[0].extensions.code).toBe('FORBIDDEN');
    expect((await get('', viewerToken)).status).toBe(200);
  });

  it('is an administrator who names a project, and who sees every plan', async () => {
    const asAdministrator = { token: api.adminToken, body: aPlanRequest() };
    expect(await api.send('POST', plansOf('-'), asAdministrator)).toMatchObject({
      status: 400,
      body: { code: 'INVALID_REQUEST' },
    });
    const made = await api.send('POST', plansOf('rivals'), asAdministrator);
    expect(made).toMatchObject({ status: 201, body: { project: 'rivals' } });
    expect((await get(`/${made.body.id}`, api.adminToken, '-')).body).toEqual(made.body);
    expect((await get(`/${made.body.id}`, api.adminToken)).status).toBe(404);
    const all = (await get('', api.adminToken, '-')).body.items.map((item: { project: string }) => item.project);
    expect(new Set(all)).toEqual(new Set(['research', 'rivals']));
  });
});

describe('prediction against measurement', () => {
  const uid = randomUUID();
  const prediction = { stepMs: 110, peakBytes: 1000, gpuType: 'simulated', microBatchSize: 2, plannerVersion: '1' };

  beforeAll(async () => {
    const { database, cluster } = api.running.infrastructure;
    await database.query(
      `INSERT INTO jobs (id, cluster_id, uid, project_id, namespace, name, spec, state)
       SELECT $1, $2, $3, id, 'research', 'measured', $4, 'Running' FROM projects WHERE name = 'research'`,
      [randomUUID(), cluster.id, uid, JSON.stringify(aJobSpec())],
    );
    for (const epoch of [1, 2]) {
      await database.query('INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) VALUES ($1, $2, $3, $4)', [
        cluster.id,
        uid,
        epoch,
        JSON.stringify(anAttempt({ epoch, prediction, layout: aLayout({ dataParallelDegree: 4 }) })),
      ]);
    }
  });

  /** Ten steps of an epoch, of which the first three are warm-up. */
  const steps = (epoch: number, stepTimeMs: number): readonly StepFrame[] =>
    Array.from({ length: 10 }, (_, index) => ({
      kind: 'step',
      bootId: 'boot',
      sequence: index,
      at: '2026-01-01T00:00:00Z',
      jobUid: uid,
      namespace: 'research',
      jobName: 'measured',
      epoch,
      step: 40 + index,
      loss: null,
      tokens: null,
      stepTimeMs: index < 3 ? 5_000 : stepTimeMs + index - 6,
      learningRate: null,
      gradNorm: null,
      ranks: [],
    }));

  const accuracy = async (as = token, project = 'research'): Promise<TestAnswer['body']> =>
    (await get('/accuracy', as, project)).body;

  it('is empty before anything was measured', async () => {
    expect(await accuracy()).toEqual({
      overall: { n: 0, medianAbsPct: null, p90AbsPct: null, biasPct: null, within10: null, within20: null },
      groups: [],
      items: [],
    });
  });

  it('judges a job by the median of its newest attempt without its first steps, and a restart counts once', async () => {
    const { database, cluster } = api.running.infrastructure;
    const store = new SeriesStore(database, cluster);
    await store.write(steps(1, 220), []);
    await store.write(steps(2, 100).slice(0, 6), []);
    await store.write(steps(2, 100), []);
    const { overall, groups, items } = await accuracy();
    expect(overall).toMatchObject({ n: 1, medianAbsPct: 10, biasPct: 10, within10: 100 });
    expect(groups).toMatchObject([{ engine: 'reference', gpuType: 'simulated', n: 1 }]);
    expect(items).toMatchObject([
      { name: 'measured', epoch: 2, gpus: 4, predictedMs: 110, measuredMs: 100, measuredSteps: 7, errorPct: 10 },
    ]);
  });

  it('stands with the job', async () => {
    const { body } = await api.send('GET', '/v1/projects/research/jobs', { token });
    expect(body.items.find((job: { name: string }) => job.name === 'measured').stepTime).toEqual({
      epoch: 2,
      predictedMs: 110,
      measuredMs: 100,
      measuredSteps: 7,
      errorPct: 10,
    });
  });

  it('shows a project its own jobs only, and administrators all', async () => {
    expect((await accuracy(foreignToken, 'rivals')).overall.n).toBe(0);
    expect((await accuracy(api.adminToken, '-')).overall.n).toBe(1);
  });
});
