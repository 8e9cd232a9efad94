// A little over 400 lines: all questions about the checkpoints of one project share its fake cluster and its database.
import { ANNOTATIONS, type Checkpoint, type CheckpointRecord } from '@coxswain/api-types';
import { aJobSpec, aVerification, someContents } from '@coxswain/api-types/testing';
import { isGood } from '@coxswain/checkpoint';
import { KubeApiError, type KubeClient } from '@coxswain/kube';
import type { SharedPostgres } from '@coxswain/test-harness';
import { projectCheckpoint } from '../projection/mirrors.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer, type TestRequest } from '../testing/api-under-test.ts';
import { mirrorCheckpoint } from '../testing/mirrored-checkpoint.ts';
import { migratedPostgres } from '../testing/test-database.ts';

const NOW = '2026-11-28T20:00:00.000Z';

/** The objects of a cluster by path, and what was asked of it. */
class FakeCluster {
  readonly objects = new Map<string, Checkpoint>();
  patches = 0;
  failure: KubeApiError | undefined;

  put(checkpoint: Checkpoint): void {
    const { namespace = '', name } = checkpoint.metadata;
    this.objects.set(`/apis/training.coxswain.dev/v1alpha1/namespaces/${namespace}/checkpoints/${name}`, checkpoint);
  }

  client(): KubeClient {
    const get = (path: string): Promise<Checkpoint> => {
      const found = this.objects.get(path);
      if (this.failure !== undefined) return Promise.reject(this.failure);
      if (found !== undefined) return Promise.resolve(found);
      return Promise.reject(new KubeApiError({ status: 404, reason: 'NotFound', message: 'it is not there' }));
    };
    const patch = async (path: string, { metadata }: { metadata: { annotations: object } }): Promise<Checkpoint> => {
      const before = await get(path);
      this.patches++;
      const merged = Object.entries({ ...before.metadata.annotations, ...metadata.annotations });
      const annotations = Object.fromEntries(merged.filter(([, value]) => value !== null)) as Record<string, string>;
      const after = { ...before, metadata: { ...before.metadata, annotations } };
      this.objects.set(path, after);
      return after;
    };
    const remove = async (path: string, { uid }: { uid: string }): Promise<void> => {
      if ((await get(path)).metadata.uid !== uid)
        throw new KubeApiError({ status: 409, reason: 'Conflict', message: 'another one' });
      this.objects.delete(path);
    };
    return { get, patch, delete: remove, close: () => Promise.resolve() } as unknown as KubeClient;
  }
}

let postgres: SharedPostgres;
let api: ApiUnderTest;
let member: string;
let foreign: string;
let jobId: string;
const cluster = new FakeCluster();

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('catalogue'),
    kube: cluster.client(),
    clock: { now: () => new Date(NOW) },
  });
  member = await api.project('research');
  foreign = await api.project('rivals');
  const body = { name: 'tiny', spec: aJobSpec() };
  jobId = (await api.send('POST', '/v1/projects/research/jobs', { token: member, body })).body.id;
});
afterAll(async () => {
  await api?.close();
});

type Method = Parameters<ApiUnderTest['send']>[0];
const ask = (method: Method, path: string, request: TestRequest = {}): Promise<TestAnswer> =>
  api.send(method, `/v1/projects/research/checkpoints${path}`, { token: member, ...request });
const namesOf = ({ body }: TestAnswer): readonly string[] => body.items.map(({ name }: CheckpointRecord) => name);
const audited = async (): Promise<readonly string[]> => {
  const { rows } = await api.running.infrastructure.database.query<{ action: string; target: string }>(
    `SELECT action, target FROM audit WHERE action LIKE 'checkpoint.%' ORDER BY id`,
  );
  return rows.map(({ action, target }) => `${action} ${target}`);
};

const suspect = { reason: 'Unreadable' as const, evidence: [] };
const BAD = aVerification({ verdict: 'damaged', level: 'V3', by: 'Worker', at: '2026-01-03T00:00:00Z' });
/** By name, the newest last. */
const STATUSES: Readonly<Record<string, Checkpoint['status']>> = {
  plain: { state: 'Complete' },
  verified: { state: 'Complete', verification: aVerification({ level: 'V3', by: 'Worker' }) },
  unverifiable: { state: 'Complete', verification: aVerification({ verdict: 'unverifiable' }) },
  signs: { state: 'Complete', verification: aVerification({ verdict: 'suspect' }) },
  incomplete: { state: 'Complete', verification: aVerification({ verdict: 'incomplete' }) },
  broken: { state: 'Complete', verification: BAD },
  condemned: { state: 'Damaged' },
  doubted: { state: 'Complete', suspect, message: 'It is suspect.' },
  waiting: { state: 'Complete', message: 'It could not be verified: its pod did not start.' },
  absent: { state: 'Complete', absent: { since: NOW } },
  unread: { state: 'Unverified' },
  retained: { state: 'Complete', retention: { action: 'Keep', because: 'It is the newest.' } },
  deleting: {
    state: 'Damaged',
    message: 'Deleting: the retention policy deletes it.',
    retention: { action: 'Delete', because: 'A newer one stays.' },
    deletion: { orderedAt: NOW, stateBefore: 'Complete', because: 'A newer one stays.', problem: 'its pod failed' },
  },
  ending: { state: 'Complete' },
};

describe('the checkpoints of a project', () => {
  const made: Checkpoint[] = [];

  beforeAll(async () => {
    for (const [name, status] of Object.entries(STATUSES)) {
      const step = 20 * (made.length + 1);
      const ending = name === 'ending' ? { deletionTimestamp: NOW } : {};
      made.push(await mirrorCheckpoint(api, { jobId, name, status, spec: { step }, ...ending }));
    }
  });

  it('that are good are those that training may resume from and that nothing is held against', async () => {
    const want = made.filter(isGood).map(({ metadata }) => metadata.name);
    expect(namesOf(await ask('GET', '?good=true')).toSorted()).toEqual(want.toSorted());
    expect(want).toEqual(['plain', 'verified', 'unverifiable', 'signs', 'waiting', 'retained']);
  });

  it.each<[string, readonly string[]]>([
    ['?verdict=damaged', ['broken']],
    ['?verdict=sound', ['verified']],
    [
      '?verdict=none',
      ['absent', 'condemned', 'deleting', 'doubted', 'ending', 'plain', 'retained', 'unread', 'waiting'],
    ],
    ['?name=plain', ['plain']],
    ['?job=tiny&verdict=incomplete', ['incomplete']],
    ['?job=another', []],
    ['?good=true&verdict=damaged', []],
  ])('are found by %s', async (query, names) => {
    expect(namesOf(await ask('GET', query)).toSorted()).toEqual(names);
    const byId = await ask('GET', `${query.replace('job=tiny', `job=${jobId}`)}`);
    expect(namesOf(byId).toSorted()).toEqual(names);
  });

  it.each([
    ['plain', { retention: null, isBeingDeleted: false, isAbsent: false }],
    ['absent', { retention: null, isBeingDeleted: false, isAbsent: true }],
    ['retained', { retention: { keeps: true, because: 'It is the newest.' }, isBeingDeleted: false, isAbsent: false }],
    ['ending', { retention: null, isBeingDeleted: true, isAbsent: false }],
    [
      'deleting',
      {
        retention: { keeps: false, because: 'A newer one stays.', problem: 'its pod failed' },
        isBeingDeleted: true,
        isAbsent: false,
      },
    ],
  ])('say what retention decided: %s', async (name, want) => {
    expect((await ask('GET', `/uid-of-${name}`)).body).toMatchObject(want);
    const query = `{ checkpoint(project: "research", uid: "uid-of-${name}") { retention { keeps because problem } isBeingDeleted isAbsent } }`;
    const { body } = await api.send('POST', '/graphql', { token: member, body: { query } });
    const retention = want.retention === null ? null : { problem: null, ...want.retention };
    expect(body.data.checkpoint).toEqual({ ...want, retention });
  });

  it('say whether their job loads them at the layout that it has now', async () => {
    const { layout } = aJobSpec();
    await mirrorCheckpoint(api, {
      jobId,
      name: 'loading',
      spec: { layout: { ...layout, dataParallelDegree: 2 } as never },
    });
    const { body } = await ask('GET', '/uid-of-loading');
    expect(body.loads).toMatchObject({
      verdict: expect.stringMatching(/^(loads as is|engine reshards)$/),
      isRefused: false,
    });
    const query = `{ checkpoint(project: "research", uid: "uid-of-loading") { loads { verdict message warnings isRefused } } }`;
    const byGraphQl = await api.send('POST', '/graphql', { token: member, body: { query } });
    expect(byGraphQl.body.data.checkpoint.loads).toEqual(body.loads);
  });

  it('come newest first, in pages whose tokens open no other list', async () => {
    const { database, cluster: row } = api.running.infrastructure;
    const at = (creationTimestamp: string, name: string): Promise<void> => {
      const [first] = made;
      if (first === undefined) throw new Error('none was made');
      const metadata = { ...first.metadata, name, uid: `uid-of-${name}`, creationTimestamp, resourceVersion: '1' };
      return database.transaction((sql) => projectCheckpoint(sql, row, { ...first, metadata }));
    };
    await at('2026-01-02T00:00:00Z', 'newer');
    await at('2026-01-03T00:00:00Z', 'newest');
    const first = await ask('GET', '?pageSize=1');
    const next = encodeURIComponent(first.body.nextPageToken);
    const second = await ask('GET', `?pageSize=1&pageToken=${next}`);
    expect([namesOf(first), namesOf(second)]).toEqual([['newest'], ['newer']]);
    expect((await ask('GET', `?pageSize=1&good=true&pageToken=${next}`)).status).toBe(400);
  });

  it('are given one by one with all their verifications, newest first', async () => {
    const { database, cluster: row } = api.running.infrastructure;
    const again = aVerification({ level: 'V3', by: 'Worker', at: '2026-01-04T00:00:00Z' });
    const broken = made.find(({ metadata }) => metadata.name === 'broken');
    const metadata = { ...broken?.metadata, resourceVersion: '2' };
    const status = { state: 'Complete', verification: again };
    await database.transaction((sql) => projectCheckpoint(sql, row, { ...broken, metadata, status } as Checkpoint));
    const { status: code, body } = await ask('GET', '/uid-of-broken');
    expect(code).toBe(200);
    expect(body).toMatchObject({ name: 'broken', jobId, verification: again, verifications: [again, BAD] });
  });

  it('are given with their tensors in groups, which are kept once for all saves of a job with that geometry', async () => {
    const group = {
      name: 'l.{0..1}.w',
      tensors: 2,
      dtype: 'float32',
      shape: [4],
      grid: [1],
      kind: 'parameter' as const,
    };
    const contents = someContents({ tensorGroups: [group] });
    for (const name of ['grouped-1', 'grouped-2'])
      await mirrorCheckpoint(api, { jobId, name, status: { state: 'Complete', contents } });
    const { body } = await ask('GET', '/uid-of-grouped-2');
    expect(body).toMatchObject({ tensorGroups: [group], contents: someContents() });
    expect(body.contents).not.toHaveProperty('tensorGroups');
    expect((await ask('GET', '/uid-of-plain')).body.tensorGroups).toBeNull();
    const kept = await api.running.infrastructure.database.query('SELECT FROM checkpoint_geometries');
    expect(kept.rows).toHaveLength(1);
  });

  it('are given with the loss and the tokens of their step', async () => {
    const progress = { loss: 2.5, lossStep: 20, tokens: 1_024 };
    await mirrorCheckpoint(api, { jobId, name: 'with-loss', status: { state: 'Complete', progress } });
    expect((await ask('GET', '/uid-of-with-loss')).body.progress).toEqual(progress);
    expect((await ask('GET', '/uid-of-plain')).body.progress).toBeNull();
  });

  it('name the attempts that began from them, of any job of the project, newest first', async () => {
    const { database } = api.running.infrastructure;
    const [{ uid = '', name = '' } = {}] = (await ask('GET', '?name=plain')).body.items as CheckpointRecord[];
    const { rows } = await database.query<{ cluster_id: string; created_at: string }>(
      `SELECT cluster_id, created_at::text FROM checkpoints WHERE uid = $1`,
      [uid],
    );
    const [{ cluster_id: clusterId = '', created_at: createdAt = '' } = {}] = rows;
    const at = (days: number): string => new Date(Date.parse(createdAt) + days * 86_400_000).toISOString();
    await database.query(`UPDATE jobs SET uid = 'uid-of-tiny' WHERE id = $1 AND uid IS NULL`, [jobId]);
    const attempts = [
      { epoch: 1, startedAt: at(1), resumedFrom: { checkpoint: name, step: 5 } },
      { epoch: 2, startedAt: at(2), resumedFrom: { checkpoint: name, step: 5 } },
      { epoch: 3, startedAt: at(3), resumedFrom: { checkpoint: 'another', step: 5 } },
      { epoch: 4, startedAt: at(-1), resumedFrom: { checkpoint: name, step: 5 } },
    ];
    for (const attempt of attempts)
      await database.query(
        `INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) SELECT $1, uid, $3, $4 FROM jobs WHERE id = $2`,
        [clusterId, jobId, attempt.epoch, JSON.stringify(attempt)],
      );
    const { usedBy } = (await ask('GET', `/${uid}`)).body;
    expect(usedBy).toEqual({
      total: 2,
      attempts: [2, 1].map((epoch) => ({ jobId, jobName: 'tiny', epoch, startedAt: at(epoch) })),
    });
  });

  it('are the same by GraphQL', async () => {
    const query = `{ projectCheckpoints(project: "research", good: true, pageSize: 2) { items { name } nextPageToken }
      checkpoint(project: "research", uid: "uid-of-broken") { name verifications { verdict } } }`;
    const { body } = await api.send('POST', '/graphql', { token: member, body: { query } });
    expect(body.data.projectCheckpoints).toEqual({
      items: [{ name: 'newest' }, { name: 'newer' }],
      nextPageToken: expect.any(String),
    });
    expect(body.data.checkpoint).toEqual({
      name: 'broken',
      verifications: [{ verdict: 'sound' }, { verdict: 'damaged' }],
    });
  });

  it('are nobody else’s', async () => {
    for (const path of ['', '/uid-of-broken']) expect((await ask('GET', path, { token: foreign })).status).toBe(404);
    const own = await api.send('GET', '/v1/projects/rivals/checkpoints', { token: foreign });
    expect(own.body).toEqual({ items: [] });
  });
});

describe('what users wish of a checkpoint', () => {
  beforeAll(async () => {
    cluster.put(await mirrorCheckpoint(api, { jobId, name: 'kept' }));
    await mirrorCheckpoint(api, { jobId, name: 'vanished' });
  });

  const annotationsOf = (name: string): unknown =>
    cluster.objects.get(`/apis/training.coxswain.dev/v1alpha1/namespaces/research/checkpoints/${name}`)?.metadata
      .annotations;

  it('a pin goes to the object once, and is removed once; each change is audited', async () => {
    const pin = { body: { reason: 'baseline' } };
    expect(await ask('PUT', '/uid-of-kept/pin', pin)).toMatchObject({ status: 200, body: { pin: 'baseline' } });
    expect(annotationsOf('kept')).toEqual({ [ANNOTATIONS.pin]: 'baseline' });
    expect(await ask('PUT', '/uid-of-kept/pin', pin)).toMatchObject({ status: 200, body: { pin: 'baseline' } });
    expect(cluster.patches).toBe(1);
    expect(await ask('DELETE', '/uid-of-kept/pin')).toMatchObject({ status: 200, body: { pin: null } });
    expect(await ask('DELETE', '/uid-of-kept/pin')).toMatchObject({ status: 200, body: { pin: null } });
    expect({ patches: cluster.patches, annotations: annotationsOf('kept') }).toEqual({ patches: 2, annotations: {} });
    expect(await audited()).toEqual(['checkpoint.pin research/kept', 'checkpoint.unpin research/kept']);
  });

  it('a verification is asked for once while it is awaited, and again if a closer one is wanted', async () => {
    const verify = (level: string): Promise<TestAnswer> => ask('POST', '/uid-of-kept/verify', { body: { level } });
    expect(await verify('V2')).toMatchObject({ status: 202, body: { level: 'V2', requestedAt: NOW } });
    expect(annotationsOf('kept')).toEqual({ [ANNOTATIONS.verify]: `V2 ${NOW}` });
    const before = cluster.patches;
    expect(await verify('V1')).toMatchObject({ status: 202, body: { level: 'V2', requestedAt: NOW } });
    expect(cluster.patches).toBe(before);
    expect(await verify('V3')).toMatchObject({ status: 202, body: { level: 'V3', checkpoint: { name: 'kept' } } });
    expect(annotationsOf('kept')).toEqual({ [ANNOTATIONS.verify]: `V3 ${NOW}` });
  });

  it.each<[string, string, object, { status: number; words: RegExp }]>([
    ['an unknown one', 'PUT /nowhere/pin', { reason: 'x' }, { status: 404, words: /has no checkpoint "nowhere"/ }],
    [
      'one that was deleted',
      'POST /uid-of-vanished/verify',
      {},
      { status: 409, words: /vanished was deleted .* cannot be verified/ },
    ],
    ['a pin without a reason', 'PUT /uid-of-kept/pin', { reason: ' ' }, { status: 400, words: /reason/ }],
    ['a reason of two lines', 'PUT /uid-of-kept/pin', { reason: 'a\nb' }, { status: 400, words: /line breaks/ }],
    ['an unknown level', 'POST /uid-of-kept/verify', { level: 'V9' }, { status: 400, words: /V0.*V3/ }],
  ])('of %s is refused in words', async (_what, request, body, { status, words }) => {
    const [method, path = ''] = request.split(' ') as [Method, string?];
    const answer = await ask(method, path, { body });
    expect(answer).toMatchObject({ status, body: { detail: expect.stringMatching(words) } });
  });

  it('all that is wrong with a request is said at once', async () => {
    const { body } = await ask('POST', '/uid-of-kept/verify', { body: { level: 'V9', soon: true } });
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()).toEqual(['/level', '/soon']);
  });

  it('is not recorded if the cluster is away, and may be asked again', async () => {
    const before = await audited();
    cluster.failure = new KubeApiError({ status: 0, reason: 'ConnectionFailed', message: 'connection refused' });
    const answer = await ask('PUT', '/uid-of-kept/pin', { body: { reason: 'x' } });
    cluster.failure = undefined;
    expect(answer).toMatchObject({ status: 503, body: { detail: expect.stringMatching(/kept was not pinned; try/) } });
    expect(await audited()).toEqual(before);
  });

  it('is not a viewer’s to have, nor of another project', async () => {
    const body = { name: 'reader', role: 'viewer' };
    const { token } = (await api.send('POST', '/v1/projects/research/tokens', { token: api.adminToken, body })).body;
    expect((await ask('PUT', '/uid-of-kept/pin', { token, body: { reason: 'x' } })).status).toBe(403);
    expect((await ask('PUT', '/uid-of-kept/pin', { token: foreign, body: { reason: 'x' } })).status).toBe(404);
  });

  it('is the same by GraphQL', async () => {
    const query = `mutation { pinCheckpoint(project: "research", uid: "uid-of-kept", reason: "by GraphQL") { pin }
      verifyCheckpoint(project: "research", uid: "uid-of-kept", level: "V3") { level requestedAt } }`;
    const { body } = await api.send('POST', '/graphql', { token: member, body: { query } });
    expect(body.data).toEqual({
      pinCheckpoint: { pin: 'by GraphQL' },
      verifyCheckpoint: { level: 'V3', requestedAt: NOW },
    });
    const unpin = `mutation { unpinCheckpoint(project: "research", uid: "uid-of-kept") { pin } }`;
    const after = await api.send('POST', '/graphql', { token: member, body: { query: unpin } });
    expect(after.body.data).toEqual({ unpinCheckpoint: { pin: null } });
  });
});

describe('an adopted checkpoint', () => {
  const spec = { jobName: '', jobUid: '', epoch: 0, step: 0, format: '', bytes: 0, files: 0 };

  beforeAll(async () => {
    for (const name of ['foreign-save', 'second-save', 'base'])
      cluster.put(await mirrorCheckpoint(api, { jobId, name, spec }));
    const body = { name: 'on-top', spec: { ...aJobSpec(), resumeFrom: { from: 'base' } } };
    const made = await api.send('POST', '/v1/projects/research/jobs', { token: api.adminToken, body });
    expect(made.status).toBe(201);
  });

  it('is forgotten by an admin, and by GraphQL too', async () => {
    expect((await ask('DELETE', '/uid-of-foreign-save', { token: api.adminToken })).status).toBe(204);
    const query = `mutation { forgetCheckpoint(project: "research", uid: "uid-of-second-save") }`;
    const { body } = await api.send('POST', '/graphql', { token: api.adminToken, body: { query } });
    expect(body.data).toEqual({ forgetCheckpoint: true });
    expect([...cluster.objects.values()].map(({ metadata }) => metadata.name)).not.toContain('foreign-save');
    expect((await audited()).slice(-2)).toEqual([
      'checkpoint.forget research/foreign-save',
      'checkpoint.forget research/second-save',
    ]);
  });

  it.each([
    ['one that a job is to resume from', 'base', 409, /is in use: spec\.resumeFrom of job on-top names it/],
    ['one that a job saved', 'kept', 409, /was not adopted/],
    ['one that is not there', 'nowhere', 404, /has no checkpoint/],
  ])('is not forgotten: %s', async (_what, name, status, words) => {
    const answer = await ask('DELETE', `/uid-of-${name}`, { token: api.adminToken });
    expect(answer).toMatchObject({ status, body: { detail: expect.stringMatching(words) } });
  });

  it('is not a submitter’s to forget', async () => {
    const body = { name: 'writer', role: 'submitter' };
    const { token } = (await api.send('POST', '/v1/projects/research/tokens', { token: api.adminToken, body })).body;
    expect((await ask('DELETE', '/uid-of-base', { token })).status).toBe(403);
  });
});
