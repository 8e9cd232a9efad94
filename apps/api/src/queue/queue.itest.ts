import { NODE_LABELS, type Queue, type TrainingJobStatus } from '@coxswain/api-types';
import { aJobSpec, anAttempt } from '@coxswain/api-types/testing';
import type { KubeClient } from '@coxswain/kube';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

const LAYOUT = { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 };
const iso = (ms: number): string => new Date(ms).toISOString();
/** All answers are about the same moment. */
const NOW = new Date();

/** Two nodes of four GPUs, and a quota of the namespace `research`. */
const kube = {
  list: (path: string) => {
    const items = path.endsWith('/nodes') ? NODES : path.endsWith('/research/resourcequotas') ? QUOTAS : [];
    // Jobs are not mirrored: the rows of this test would count as gone.
    const isMirrored = path.includes('training.coxswain.dev') && !path.endsWith('/fabrics');
    return isMirrored ? NO_CLUSTER() : Promise.resolve({ metadata: { resourceVersion: '1' }, items });
  },
  get: () => NO_CLUSTER(),
  version: () => NO_CLUSTER(),
  requestStream: (_path: string, { signal }: { readonly signal: AbortSignal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('the watch has ended')))),
  close: () => Promise.resolve(),
} as unknown as KubeClient;
const NO_CLUSTER = (): Promise<never> => Promise.reject(new Error('there is no cluster'));
const NODES = ['node-a', 'node-b'].map((name, index) => ({
  metadata: { name, uid: name, resourceVersion: String(index), labels: { [NODE_LABELS.gpuType]: 'H100' } },
  status: { allocatable: { 'nvidia.com/gpu': '4' }, conditions: [{ type: 'Ready', status: 'True' }] },
}));
const QUOTAS = [{ metadata: { name: 'gpus' }, spec: { hard: { 'requests.nvidia.com/gpu': '6' } } }];

let postgres: SharedPostgres;
let api: ApiUnderTest;
let member: string;
let foreign: string;
const ids: Record<string, string> = {};

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('queue'),
    kube,
    clock: { now: () => NOW },
  });
  member = await api.project('research');
  foreign = await api.project('rivals');
  await aJob('rivals', 'secret-runner');
  await holds('secret-runner');
  await aJob('rivals', 'secret-merger', waits(9));
  await aJob('research', 'ours', waits(5));
});
afterAll(async () => {
  await api?.close();
});

/** A job as the projection leaves it; its UID is its name. */
async function aJob(project: string, name: string, status: Partial<TrainingJobStatus> = {}): Promise<void> {
  const token = project === 'research' ? member : foreign;
  const engine = { ...aJobSpec().engine, image: 'secret-image' };
  const body = { name, spec: aJobSpec({ layout: LAYOUT, engine }) };
  const made = await api.send('POST', `/v1/projects/${project}/jobs`, { token, body });
  ids[name] = made.body.id as string;
  await database().query(`UPDATE jobs SET uid = $2, status = $3, waits_since = $4 WHERE id = $1`, [
    ids[name],
    name,
    JSON.stringify(status),
    status.askedAt ?? null,
  ]);
}

const waits = (hours: number): Partial<TrainingJobStatus> => ({
  askedAt: iso(NOW.getTime() - hours * 3_600_000),
  conditions: [
    {
      ...{ type: 'Placed', status: 'False', reason: 'WaitingForCapacity', message: 'behind secret-runner' },
      ...{ observedGeneration: 1, lastTransitionTime: iso(0) },
    },
  ],
});

/** The job runs on node-a. Its project was served last, so the other one is first in line. */
async function holds(uid: string): Promise<void> {
  const { cluster } = api.running.infrastructure;
  const attempt = anAttempt({ stage: 'Released', layout: LAYOUT, placement: 'placed', startedAt: iso(NOW.getTime()) });
  await database().query('INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) VALUES ($1, $2, 1, $3)', [
    ...[cluster.id, uid, JSON.stringify(attempt)],
  ]);
  const spec = { jobUid: uid, epoch: 1, layout: LAYOUT, nodes: ['node-a'], ranksPerPod: 4, worldSize: 4 };
  await database().query(
    `INSERT INTO placements (cluster_id, uid, namespace, name, job_uid, epoch, spec, resource_version)
     VALUES ($1, 'p', 'rivals', 'placed', $2, 1, $3, 1)`,
    [cluster.id, uid, JSON.stringify(spec)],
  );
}

const database = () => api.running.infrastructure.database;
const ask = (project: string, token: string, query = ''): Promise<TestAnswer> =>
  api.send('GET', `/v1/projects/${project}/queue${query}`, { token });
const FIELDS = `asOf totalGpus freeGpus waitingJobs waitingGpus oldestWaitSeconds problem hasMore timelineUntil hasMoreEvents
  items { position priority gpus waitingSince job { id name namespace project } start { at earliest latest restsOn nodesHeld }
    constraint { kind gpuType needed free sentence } }
  windows { kind name project from until nodes }
  timeline { kind gpus at earliest latest restsOn nodesHeld job { id name namespace project } }
  use { project heldGpus waitingJobs waitingGpus quotaGpus }
  starts { count medianErrorSeconds p90ErrorSeconds medianErrorPct p90ErrorPct
    items { job { id name namespace project } expectedSince expected actual errorSeconds errorPct } }`;
const graphql = (query: string, token: string, variables: object = {}): Promise<TestAnswer> =>
  api.send('POST', '/graphql', { token, body: { query, variables } });

describe('the queue', () => {
  it('is refused without a token, in REST and GraphQL', async () => {
    const paths = ['/v1/projects/research/queue', `/v1/projects/research/jobs/${ids['ours']}/start`];
    for (const path of paths) expect((await api.send('GET', path, {})).status).toBe(401);
    const body = { query: '{ queue(project: "research") { waitingJobs } }' };
    expect((await api.send('POST', '/graphql', { body })).status).toBe(401);
  });

  it('of another project is not found by GraphQL, nor is the start of its job', async () => {
    for (const project of ['-', 'rivals']) {
      const { body } = await graphql(`{ queue(project: "${project}") { waitingJobs } }`, member);
      expect([body.data?.queue ?? null, JSON.stringify(body.errors)]).toEqual([
        null,
        expect.stringMatching(/NOT_FOUND/),
      ]);
    }
    const query = 'query ($id: ID!) { jobStart(project: "research", jobId: $id) { waitingJobs } }';
    const { body } = await graphql(query, member, { id: ids['secret-merger'] });
    expect(JSON.stringify(body.errors)).toMatch(/NOT_FOUND/);
  });

  it('has no name, namespace or image of another project, in REST, GraphQL and the start of a job', async () => {
    const rest = await ask('research', member);
    const graph = await graphql(`{ queue(project: "research") { ${FIELDS} } }`, member);
    const start = await api.send('GET', `/v1/projects/research/jobs/${ids['ours']}/start`, { token: member });
    expect([rest.status, graph.status, start.status]).toEqual([200, 200, 200]);
    for (const { body } of [rest, graph, start]) expect(JSON.stringify(body)).not.toMatch(/rivals|secret/);
    const { items, timeline, use } = rest.body as Queue;
    expect(items.map(({ position, job, gpus }) => [position, job?.name ?? null, gpus])).toEqual([
      [1, 'ours', 4],
      [2, null, 4],
    ]);
    expect(timeline.map(({ kind, job }) => [kind, job?.name ?? null])).toContainEqual(['End', null]);
    expect(use).toEqual([{ project: 'research', heldGpus: 0, waitingJobs: 1, waitingGpus: 4, quotaGpus: 6 }]);
    expect(start.body).toMatchObject({ place: { position: 1, job: { name: 'ours' } }, waitingJobs: 2 });
  });

  it('is the same over REST and GraphQL', async () => {
    const graph = await graphql(`{ queue(project: "research") { ${FIELDS} } }`, member);
    expect(graph.body.data.queue).toEqual((await ask('research', member)).body);
    const query = `query ($id: ID!) { jobStart(project: "research", jobId: $id) {
      asOf waitingJobs problem place { position job { name } } changes { kind amount gpuType start sentence } } }`;
    const start = await graphql(query, member, { id: ids['ours'] });
    expect(start.body).toMatchObject({ data: { jobStart: { place: { position: 1, job: { name: 'ours' } } } } });
  });

  it('names every job for an administrator of the cluster, and no other member may ask for all', async () => {
    const { body } = await ask('-', api.adminToken);
    expect((body as Queue).items.map(({ job }) => job?.name)).toEqual(['ours', 'secret-merger']);
    expect((body as Queue).use.map(({ project, heldGpus, quotaGpus }) => [project, heldGpus, quotaGpus])).toEqual([
      ['rivals', 4, null],
      ['research', 0, 6],
    ]);
    expect((await ask('-', member)).status).toBe(404);
    expect((await ask('rivals', member)).status).toBe(404);
    expect(
      (await api.send('GET', `/v1/projects/research/jobs/${ids['secret-merger']}/start`, { token: member })).status,
    ).toBe(404);
  });

  it('compares starts of the last 30 days with those that were expected, of jobs of the project alone', async () => {
    const sql = database();
    const start = async (name: string, startedMs: number): Promise<void> => {
      await sql.query('UPDATE jobs SET first_expected_start = $2 WHERE id = $1', [
        ids[name],
        JSON.stringify({ since: iso(startedMs - 7_200_000), start: iso(startedMs - 600_000) }),
      ]);
      if (name === 'secret-runner') return;
      await sql.query('INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) VALUES ($1, $2, 1, $3)', [
        api.running.infrastructure.cluster.id,
        name,
        JSON.stringify(anAttempt({ stage: 'Ended', startedAt: iso(startedMs) })),
      ]);
    };
    for (const name of ['began', 'began-long-ago']) await aJob('research', name);
    await start('began', NOW.getTime());
    await start('secret-runner', NOW.getTime());
    await start('began-long-ago', NOW.getTime() - 31 * 86_400_000);
    const { starts } = (await ask('research', member)).body as Queue;
    expect(starts).toMatchObject({ count: 1, items: [{ job: { name: 'began' }, errorSeconds: 600, errorPct: 9.1 }] });
    expect(((await ask('-', api.adminToken)).body as Queue).starts.count).toBe(2);
  });

  it.each(['?limit=0', '?limit=2001', '?limit=x'])('refuses %s', async (query) => {
    expect((await ask('research', member, query)).status).toBe(400);
  });
});
