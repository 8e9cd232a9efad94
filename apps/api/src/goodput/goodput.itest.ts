import type { Attempt, JobGoodput } from '@coxswain/api-types';
import { aJobSpec, anAttempt } from '@coxswain/api-types/testing';
import type { SharedPostgres } from '@coxswain/test-harness';
import { JobsService } from '../jobs/jobs.service.ts';
import { SeriesStore } from '../series/series-store.ts';
import { aStepFrame } from '../series/testing/a-step-frame.ts';
import { anAdministrator } from '../testing/a-principal.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';
import { CostsService } from './costs.service.ts';

const UID = '3f1c2b9e-0000-4000-8000-000000000077';
const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
const LAYOUT = { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 };

/** Four GPUs: a run of 40 steps that saved and failed, and the one that followed from step 30 and finished. */
const ATTEMPTS: readonly Attempt[] = [
  anAttempt({
    stage: 'Ended',
    layout: LAYOUT,
    startedAt: at(10),
    runningAt: at(20),
    firstStep: { step: 1, at: at(30) },
    lastStep: 41,
    lastStepAt: at(70),
    stoppingAt: at(75),
    endedAt: at(80),
    outcome: 'Failed',
    reason: 'EngineFailed',
  }),
  anAttempt({
    epoch: 2,
    stage: 'Ended',
    layout: LAYOUT,
    resumedFrom: { checkpoint: 'c', step: 31 },
    startedAt: at(90),
    runningAt: at(100),
    restoredAt: at(105),
    firstStep: { step: 32, at: at(107) },
    lastStep: 52,
    lastStepAt: at(127),
    stoppingAt: at(130),
    endedAt: at(130),
    outcome: 'Succeeded',
  }),
];

/** Of jobs that were not planned. */
const PRICES = { currency: 'EUR', perGpuHour: { default: 1 } };

let postgres: SharedPostgres;
let api: ApiUnderTest;
let member: string;
let foreign: string;
let jobId: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('goodput'),
    environment: { COXSWAIN_PRICES: JSON.stringify(PRICES) },
  });
  member = await api.project('research');
  foreign = await api.project('rivals');
  const body = { name: 'tiny', spec: aJobSpec() };
  jobId = (await api.send('POST', '/v1/projects/research/jobs', { token: member, body })).body.id;
});
afterAll(async () => {
  await api?.close();
});

const ask = (project = 'research', token = member): Promise<TestAnswer> =>
  api.send('GET', `/v1/projects/${project}/jobs/${jobId}/goodput`, { token });
const sharesOf = ({ shares }: JobGoodput): Record<string, number> =>
  Object.fromEntries(shares.filter(({ gpuSeconds }) => gpuSeconds > 0).map((one) => [one.category, one.gpuSeconds]));

/** As the projector and the series store leave it; each step of the first attempt took 900 ms. */
async function liveThrough(): Promise<void> {
  const { database, cluster } = api.running.infrastructure;
  await database.query(
    `UPDATE jobs SET uid = $1, state = 'Complete', created_at = $2, finished_at = $3 WHERE id = $4`,
    [UID, at(0), at(130), jobId],
  );
  for (const attempt of ATTEMPTS)
    await database.query('INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) VALUES ($1, $2, $3, $4)', [
      cluster.id,
      UID,
      attempt.epoch,
      JSON.stringify(attempt),
    ]);
  const saved = (uid: string, namespace: string, spec: object): Promise<unknown> =>
    database.query(
      `INSERT INTO checkpoints (cluster_id, uid, namespace, name, job_uid, spec, state, resource_version, created_at)
       VALUES ($1, $2, $3, $2, $4, $5, 'Complete', 1, now())`,
      [cluster.id, uid, namespace, UID, JSON.stringify(spec)],
    );
  await saved('ours', 'research', { epoch: 1, step: 31 });
  await saved('theirs', 'rivals', { epoch: 2, step: 50 });
  const frames = [1, 2].flatMap((epoch) =>
    Array.from({ length: epoch === 1 ? 41 : 21 }, (_, index) =>
      aStepFrame({ jobUid: UID, epoch, step: index + (epoch === 1 ? 1 : 32), stepTimeMs: index === 0 ? 9000 : 900 }),
    ),
  );
  await new SeriesStore(database, cluster).write(frames, []);
}

describe('goodput of a job', () => {
  it('is none before it held a GPU', async () => {
    const { status, body } = await ask();
    expect({ status, body }).toMatchObject({ status: 200, body: { goodput: null, gpuSeconds: 0, heldSeconds: 0 } });
  });

  it('tells of each GPU-second in one category, by REST and GraphQL alike', async () => {
    await liveThrough();
    const { body } = await ask();
    expect(sharesOf(body)).toEqual({
      initialisation: 4 * (20 + 2),
      checkpointRestore: 4 * 5,
      // Of 40 s between first and last step 36 s were in steps; a quarter of the steps was trained again.
      productive: 4 * (27 + 18),
      wastedProgress: 4 * 9,
      checkpointSave: 4 * 4,
      // The second run saved nothing: the checkpoint with its UID is in somebody else’s namespace.
      other: 4 * 2,
      unexplainedRecovery: 4 * (10 + 10),
      plannedStop: 4 * 3,
    });
    expect(body).toMatchObject({ gpuSeconds: 440, heldSeconds: 110, waitingSeconds: 20, asOf: at(130) });
    const query = `query ($id: ID!) { goodput(project: "research", jobId: $id) {
      asOf gpuSeconds goodput shares { category gpuSeconds share } heldSeconds waitingSeconds suspendedSeconds
      spans { from to spent gpus epoch } months { month from to gpuSeconds productiveGpuSeconds } secondsPerSave attemptsLeftOut recommendedSaves { everySteps everySeconds secondsPerSave saves secondsToFailure failures }
      restartPhases { phase restarts seconds gpuSeconds } saveStops { epoch incarnation step seconds }
      cost { amount currency } recoveries { epoch incarnation failedAt resumedFromStep lastStep phases { phase seconds } total } } }`;
    const answer = await api.send('POST', '/graphql', { token: member, body: { query, variables: { id: jobId } } });
    expect(answer.body).toEqual({ data: { goodput: body } });
  });

  it('costs its GPU-seconds, but those after the end', async () => {
    expect((await ask()).body.cost).toEqual({ amount: 0.122222, currency: 'EUR' });
  });

  it('is nobody else’s: a stranger is told that there is no such project', async () => {
    expect((await ask('research', foreign)).status).toBe(404);
    expect((await ask('rivals', foreign)).status).toBe(404);
  });
});

describe('what a month costs', () => {
  const costs = (query: string, { project = 'research', token = member } = {}): Promise<TestAnswer> =>
    api.send('GET', `/v1/projects/${project}/costs${query}`, { token });

  it('is a row for each job that held GPUs in it', async () => {
    const { status, body } = await costs('?month=2026-01');
    expect(status).toBe(200);
    expect(body).toEqual({
      currency: 'EUR',
      items: [expect.objectContaining({ ResourceName: 'tiny', BilledCost: 0.122222 })],
    });
    expect((await costs('?month=2026-02')).body).toEqual({ currency: 'EUR', items: [] });
  });

  it('counts jobs that were deleted, page by page', async () => {
    const { database } = api.running.infrastructure;
    const second = await api.send('POST', '/v1/projects/research/jobs', {
      token: member,
      body: { name: 'deleted', spec: aJobSpec() },
    });
    await database.query(
      "UPDATE jobs SET uid = $1, state = 'Deleted', created_at = $2, finished_at = $3, deleted_at = now() WHERE id = $4",
      [`${UID.slice(0, -1)}8`, at(1), at(130), second.body.id],
    );
    await database.query(
      `INSERT INTO attempts (cluster_id, job_uid, epoch, attempt)
       SELECT cluster_id, $2, epoch, attempt FROM attempts WHERE job_uid = $1 AND epoch = 2`,
      [UID, `${UID.slice(0, -1)}8`],
    );
    const first = (await costs('?month=2026-01&pageSize=1')).body;
    const last = (await costs(`?month=2026-01&pageSize=1&pageToken=${encodeURIComponent(first.nextPageToken)}`)).body;
    const names = [first, last].flatMap(({ items }) => items.map((row: { ResourceName: string }) => row.ResourceName));
    expect([names, last.nextPageToken]).toEqual([['tiny', 'deleted'], undefined]);
  });

  it('is a file of the same rows', async () => {
    const { body, headers } = await costs('.csv?month=2026-01');
    const [names, ...rows] = String(body).trimEnd().split('\n');
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(names).toMatch(/^BilledCost,BillingAccountId,/);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatch(/^0\.122222,/);
  });

  it.each(['', '.csv'])('%s is for members of the project alone', async (form) => {
    expect((await costs(`${form}?month=2026-01`, { token: foreign })).status).toBe(404);
  });

  it.each(['2026-13', 'January'])('is refused for %s, which is no month', async (month) => {
    expect(await costs(`?month=${month}`)).toMatchObject({ status: 400 });
  });

  it('is not known without a list of prices, and the answer says who gives one', async () => {
    const { tenantDatabase, cluster, pageTokens, clock } = api.running.infrastructure;
    const service = new CostsService(
      ...([tenantDatabase, cluster, api.running.app.get(JobsService, { strict: false }), pageTokens, clock] as const),
      { prices: undefined },
    );
    await expect(service.csvOfMonth(anAdministrator(), 'research', { month: '2026-01' })).rejects.toThrow(
      /api\.prices of the chart/,
    );
  });
});
