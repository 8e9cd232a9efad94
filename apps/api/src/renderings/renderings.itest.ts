import { aJobSpec, anAttempt, aPlannedJobSpec } from '@coxswain/api-types/testing';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

const ONE = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 };
const AS_WRITTEN = { ...ONE, tensorParallelDegree: 2, dataParallelDegree: 2 };

let postgres: SharedPostgres;
let api: ApiUnderTest;
let token: string;
let viewer: string;
let foreign: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({ databaseUrl: await postgres.createDatabase('renderings') });
  token = await api.project('research');
  const made = await api.send('POST', '/v1/projects/research/tokens', {
    token: api.adminToken,
    body: { name: 'reads', role: 'viewer' },
  });
  viewer = made.body.token;
  foreign = await api.project('rivals');
});

afterAll(async () => {
  await api?.close();
});

const ask = (body: object, as = token): Promise<TestAnswer> =>
  api.send('POST', '/v1/projects/research/renderings', { token: as, body });
const rendering = (id: string, as = token): Promise<TestAnswer> =>
  api.send('GET', `/v1/projects/research/jobs/${id}/rendering`, { token: as });
const query = (text: string, parameters: readonly unknown[]): Promise<unknown> =>
  api.running.infrastructure.database.query(text, parameters);

let made = 0;
async function aJob(spec: object): Promise<string> {
  const body = { name: `job-${++made}`, spec };
  return (await api.send('POST', '/v1/projects/research/jobs', { token, body })).body.id as string;
}

/** Rows as the projector leaves them of an attempt on one rank. */
async function place(
  id: string,
  attempt: Parameters<typeof anAttempt>[0],
  job: { readonly finished: boolean },
): Promise<void> {
  const { cluster } = api.running.infrastructure;
  const uid = id;
  const spec = {
    jobName: 'a',
    jobUid: uid,
    epoch: 1,
    layout: ONE,
    microBatchSize: 4,
    worldSize: 1,
    ranksPerPod: 1,
    nodes: ['n'],
  };
  await query('UPDATE jobs SET uid = $1, finished_at = $2 WHERE id = $1', [uid, job.finished ? new Date() : null]);
  await query('INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) VALUES ($1, $2, 1, $3)', [
    cluster.id,
    uid,
    JSON.stringify(anAttempt({ epoch: 1, placement: 'placed', ...attempt })),
  ]);
  await query(
    `INSERT INTO placements (cluster_id, uid, namespace, name, job_uid, epoch, spec, resource_version)
     VALUES ($1, $2, 'research', 'placed', $2, 1, $3, 1)`,
    [cluster.id, uid, JSON.stringify(spec)],
  );
}

const argvOf = ({ body }: TestAnswer): string => (body.program?.argv as readonly string[] | undefined)?.join(' ') ?? '';

describe('what a job runs', () => {
  it('is of its layout before it is placed', async () => {
    const answer = await rendering(await aJob(aJobSpec()));
    expect(answer.body).toMatchObject({ engine: 'reference', epoch: null, layout: AS_WRITTEN, refusal: null });
    expect(argvOf(answer)).toContain('--tensor-parallel 2 --pipeline-parallel 1 --data-parallel 2');
  });

  it.each<[string, Parameters<typeof anAttempt>[0], boolean]>([
    ['while its ranks run', { stage: 'Released' }, false],
    ['after the last of them', { stage: 'Ended', outcome: 'Failed', endedAt: '2026-01-01T00:00:00Z' }, true],
  ])('is of its placement %s, with the micro-batch that was chosen for it', async (_when, attempt, finished) => {
    const id = await aJob(aJobSpec());
    await place(id, attempt, { finished });
    const answer = await rendering(id);
    expect(answer.body).toMatchObject({ epoch: 1, layout: ONE, refusal: null });
    expect(argvOf(answer)).toContain('--data-parallel 1');
    expect(argvOf(answer)).toContain('--micro-batch-size 4');
  });

  it('is of its layout again while it holds between two attempts', async () => {
    const id = await aJob(aJobSpec());
    await place(id, { stage: 'Ended', outcome: 'Failed', endedAt: '2026-01-01T00:00:00Z' }, { finished: false });
    expect((await rendering(id)).body).toMatchObject({ epoch: null, layout: AS_WRITTEN });
  });

  it('is not known while the planner searches, and says so', async () => {
    const { status, body } = await rendering(await aJob(aPlannedJobSpec()));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      program: null,
      layout: null,
      refusal: { rule: 'layout-is-chosen', field: 'layout', why: 'the planner has not chosen a layout for 4 GPUs yet' },
    });
  });

  it('is what the planner chose, and its refusal where it found nothing', async () => {
    const id = await aJob(aPlannedJobSpec());
    const plan = { chosenBy: 'Planner', gpus: 4, fabric: 'f', plannerVersion: '1', plannedAt: '2026-01-01T00:00:00Z' };
    const setPlan = (more: object): Promise<unknown> =>
      query('UPDATE jobs SET status = $1 WHERE id = $2', [JSON.stringify({ plan: { ...plan, ...more } }), id]);
    await setPlan({ layout: { ...ONE, dataParallelDegree: 4 }, microBatchSize: 2 });
    expect(argvOf(await rendering(id))).toContain('--data-parallel 4 --global-batch-size 8 --micro-batch-size 2');
    await setPlan({ refusal: 'No layout on 4 GPUs can train this.' });
    expect((await rendering(id)).body.refusal).toMatchObject({ why: 'No layout on 4 GPUs can train this.' });
  });

  it('shows no secret, neither its value nor where it stands', async () => {
    const engine = {
      name: 'command',
      image: 'i',
      command: ['train'],
      env: [{ name: 'MODE', value: 'fast' }],
      secretEnv: [{ name: 'HUB', secret: 'job-hub', key: 'token' }],
      secretFiles: [{ secret: 'job-files', key: 'key' }],
    };
    const { body } = await rendering(await aJob({ engine, layout: ONE }));
    expect(body.program.env).toEqual([{ name: 'MODE', value: 'fast' }]);
    expect(JSON.stringify(body)).not.toMatch(/HUB|job-hub|job-files/);
  });

  it('is read by viewers, and by nobody of another project', async () => {
    const id = await aJob(aJobSpec());
    expect([(await rendering(id, viewer)).status, (await rendering(id, foreign)).status]).toEqual([200, 404]);
  });
});

describe('what a layout becomes', () => {
  const command = { name: 'command', command: ['train', '$5'] };

  it('is answered without a job, and what was assumed is told', async () => {
    const model = { layers: 2, hiddenSize: 64, attentionHeads: 4 };
    const answer = await ask({ engine: { name: 'reference' }, layout: { dataParallelDegree: 2 }, model }, viewer);
    expect([answer.status, answer.body.refusal]).toEqual([200, null]);
    expect(argvOf(answer)).toContain('--layers 2 --hidden-size 64');
    expect(answer.body.program.notes).toContain('assumed: model.sequenceLength is 4096');
  });

  it.each<[string, object, string]>([
    ['an engine that no job can name', { name: 'galvatron' }, 'engine-not-rendered'],
    ['a release that nobody knows', { name: 'megatron-lm', release: 'core_v0.1' }, 'job-is-valid'],
  ])('is refused with what to do instead: %s', async (_what, engine, rule) => {
    const { status, body } = await ask({ engine, layout: {} });
    expect(status).toBe(200);
    expect(body).toMatchObject({ program: null, refusal: { rule, fallback: expect.stringMatching(/./) as string } });
  });

  it.each<[string, object, number, string]>([
    ['an engine that there is not', { engine: { name: 'megatron' }, layout: {} }, 400, '/engine/name'],
    ['a word that there is not', { engine: command, layout: {}, gpus: 4 }, 400, '/'],
    ['a secret', { engine: { ...command, secretEnv: [] }, layout: {} }, 400, '/engine'],
    [
      'more text than a spec may hold',
      { engine: { ...command, args: Array<string>(40).fill('x'.repeat(4000)) }, layout: {} },
      400,
      '',
    ],
  ])('is no answer to %s', async (_what, body, status, pointer) => {
    const answer = await ask(body);
    expect(answer).toMatchObject({ status, body: { code: 'INVALID_REQUEST' } });
    expect((answer.body.errors as readonly { pointer: string }[])[0]?.pointer).toMatch(new RegExp(`^${pointer}`));
  });

  it('is nothing that another project, or a stranger, may use the API for', async () => {
    const body = { engine: command, layout: {} };
    expect((await ask(body, foreign)).status).toBe(404);
    expect((await api.send('POST', '/v1/projects/research/renderings', { body })).status).toBe(401);
  });

  it('is asked for by GraphQL only some times in one question', async () => {
    const fields = (times: number): string =>
      Array.from(
        { length: times },
        (_, at) => `a${at}: rendering(project: "research", input: $input) { program { argv } }`,
      ).join(' ');
    const ofTimes = (times: number): Promise<TestAnswer> =>
      api.send('POST', '/graphql', {
        token,
        body: {
          query: `query ($input: RenderingRequestInput!) { ${fields(times)} }`,
          variables: { input: { engine: command, layout: {} } },
        },
      });
    expect((await ofTimes(3)).body.data.a2.program.argv).toEqual(['train', '$$5']);
    expect((await ofTimes(60)).body.errors[0].message).toMatch(/has 60 fields at its root; at most 10/);
  });
});

describe('the list of engines', () => {
  it('is for whoever is signed in', async () => {
    const { status, body } = await api.send('GET', '/v1/engines', { token: viewer });
    const names = (body.items as readonly { name: string; startsJobs: boolean }[]).filter(
      ({ startsJobs }) => startsJobs,
    );
    expect(status).toBe(200);
    expect(names.map(({ name }) => name)).toContain('megatron-lm');
    expect((await api.send('GET', '/v1/engines', {})).status).toBe(401);
  });
});
