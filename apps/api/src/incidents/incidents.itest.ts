import { type Incident, type JobIncident, LABELS, type TrainingJob } from '@coxswain/api-types';
import { aJobSpec, anIncident, aTrainingJob } from '@coxswain/api-types/testing';
import type { SharedPostgres } from '@coxswain/test-harness';
import { projectJob } from '../projection/job-projection.ts';
import { MAX_INCIDENTS_OF_JOB } from '../projection/incident-projection.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();

const onNodeA = (changes: Partial<Incident> = {}): Incident =>
  anIncident({ noticedAt: at(10), rank: 1, node: 'node-a', ...changes });

let postgres: SharedPostgres;
let api: ApiUnderTest;
let member: string;
let foreign: string;
let jobId: string;
let resourceVersion = 100;

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({ databaseUrl: await postgres.createDatabase('incidents') });
  member = await api.project('research');
  foreign = await api.project('rivals');
  jobId = (
    await api.send('POST', '/v1/projects/research/jobs', { token: member, body: { name: 'tiny', spec: aJobSpec() } })
  ).body.id;
});
afterAll(async () => {
  await api?.close();
});

/** As the projector writes it when the resource holds these. */
async function project(incidents: readonly Incident[]): Promise<void> {
  const { database, cluster } = api.running.infrastructure;
  resourceVersion += 1;
  const metadata = { name: 'tiny', namespace: 'research', uid: 'uid-1', resourceVersion: `${resourceVersion}` };
  const job = aTrainingJob({ metadata: { ...metadata, labels: { [LABELS.jobId]: jobId } } });
  const withIncidents = { ...job, status: { ...job.status, epoch: 1, incidents } } as TrainingJob;
  await database.transaction((sql) => projectJob(sql, cluster, withIncidents));
}

const ask = (path: string, token = member): Promise<TestAnswer> =>
  api.send('GET', `/v1/projects/research/${path}`, { token });
const idsOf = ({ body }: TestAnswer): readonly string[] => body.items.map(({ id }: JobIncident) => id);

describe('incidents of a job', () => {
  const slow = onNodeA({ id: '1.1-slowRank-r3', kind: 'SlowRank', noticedAt: at(20), rank: 3, node: 'node-b' });

  it('are none at first, newest first later, and each once however often the resource is projected', async () => {
    expect((await ask(`jobs/${jobId}/incidents`)).body).toEqual({ items: [] });
    await project([onNodeA(), slow]);
    await project([onNodeA(), slow]);
    const { status, body } = await ask(`jobs/${jobId}/incidents`);
    expect(status).toBe(200);
    expect(body.items).toEqual([slow, onNodeA()].map((one) => ({ ...one, jobId, job: 'tiny', project: 'research' })));
  });

  it('stay when status keeps them no longer, and tell what came of them', async () => {
    await project([{ ...slow, outcome: 'RunEnded', closedAt: at(30) }]);
    const { body } = await ask('incidents');
    expect(body.items).toMatchObject([{ id: slow.id, outcome: 'RunEnded' }, { id: '1.1' }]);
  });

  it.each<[string, readonly string[]]>([
    ['incidents?kind=SlowRank', [slow.id]],
    ['incidents?state=open', ['1.1']],
    ['incidents?state=over', [slow.id]],
    ['incidents?node=node-a', ['1.1']],
    ['incidents?node=node-a&state=over', []],
  ])('are found by %s', async (path, ids) => {
    expect(idsOf(await ask(path))).toEqual(ids);
  });

  it('come in pages, whose tokens open no other list', async () => {
    const first = await ask('incidents?pageSize=1');
    const next = encodeURIComponent(first.body.nextPageToken);
    expect([idsOf(first), idsOf(await ask(`incidents?pageSize=1&pageToken=${next}`))]).toEqual([[slow.id], ['1.1']]);
    expect((await ask(`jobs/${jobId}/incidents?pageSize=1&pageToken=${next}`)).status).toBe(400);
  });

  it('are the same by GraphQL', async () => {
    const query = `query ($id: ID!) { jobIncidents(project: "research", jobId: $id) { items { id kind rank node outcome job jobId } }
      incidents(project: "research", kind: Crash) { items { id } } }`;
    const { body } = await api.send('POST', '/graphql', { token: member, body: { query, variables: { id: jobId } } });
    expect(body.data.jobIncidents.items).toMatchObject([
      { id: slow.id, rank: 3, outcome: 'RunEnded' },
      { id: '1.1', outcome: null },
    ]);
    expect(body.data.incidents.items).toEqual([{ id: '1.1' }]);
  });

  it('are nobody else’s', async () => {
    expect((await ask('incidents', foreign)).status).toBe(404);
    expect((await ask(`jobs/${jobId}/incidents`, foreign)).status).toBe(404);
    const theirs = await api.send('GET', '/v1/projects/rivals/incidents', { token: foreign });
    expect(theirs.body).toEqual({ items: [] });
  });

  it('are bounded: of a job the newest are kept', async () => {
    for (let batch = 0; batch < 27; batch += 1) {
      await project(
        Array.from({ length: 20 }, (_, index) => {
          const epoch = 2 + batch * 20 + index;
          return onNodeA({ id: `${epoch}.1`, epoch, noticedAt: at(100 + epoch) });
        }),
      );
    }
    const { database } = api.running.infrastructure;
    const kept = await database.query<{ count: string; oldest: Date }>(
      'SELECT count(*), min(noticed_at) AS oldest FROM incidents',
    );
    expect(Number(kept.rows[0]?.count)).toBe(MAX_INCIDENTS_OF_JOB);
    expect(kept.rows[0]?.oldest.toISOString()).toBe(at(100 + 2 + 27 * 20 - MAX_INCIDENTS_OF_JOB));
  });
});

describe('stacks of a job', () => {
  const take = (id: string, token = member): Promise<TestAnswer> =>
    api.send('POST', `/v1/projects/research/jobs/${id}/stacks?rank=3`, { token });

  it('are not to be had of one that was not placed, nor where no operator answers; who has asked is recorded', async () => {
    const body = { name: 'unplaced', spec: aJobSpec() };
    const { id } = (await api.send('POST', '/v1/projects/research/jobs', { token: member, body })).body;
    expect(await take(id)).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', detail: expect.stringMatching(/^job "unplaced" is \w+, and no rank of it runs/) },
    });
    expect(await take(jobId)).toMatchObject({
      status: 503,
      body: { code: 'UNAVAILABLE', detail: expect.stringMatching(/^the operator does not answer \(no address/) },
    });
    const query = `mutation ($id: ID!) { takeStacks(project: "research", id: $id) { rankCount } }`;
    const asked = await api.send('POST', '/graphql', { token: member, body: { query, variables: { id: jobId } } });
    expect(asked.body.errors[0]).toMatchObject({ extensions: { code: 'UNAVAILABLE' } });
    const { database } = api.running.infrastructure;
    const recorded = await database.query(`SELECT target, detail FROM audit WHERE action = 'job.stacks' ORDER BY id`);
    expect(recorded.rows).toEqual([
      { target: 'research/tiny', detail: { rank: 3 } },
      { target: 'research/tiny', detail: {} },
    ]);
  });

  it('are nobody else’s', async () => {
    expect((await take(jobId, foreign)).status).toBe(404);
  });
});
