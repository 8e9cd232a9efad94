import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { aJobSpec } from '@coxswain/api-types/testing';
import { KubeApiError } from '@coxswain/kube';
import { FakeKubeApi } from '@coxswain/kube/testing';
import { waitFor } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import { Database } from '@coxswain/persistence';
import { ensureCluster } from '../infrastructure/installation.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { enqueueApply } from '../jobs/job-changes.ts';
import { recordDesiredChange } from '../jobs/job-table.ts';
import { findJobRow } from '../jobs/job-row.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from '../testing/api-under-test.ts';
import { createTestDatabase, migratedPostgres, type TestDatabase } from '../testing/test-database.ts';
import { ApplyEntries } from './apply-entries.ts';
import { TURNS_OF_PROJECT } from './apply-queue.ts';
import { ClusterWriter } from './cluster-writer.ts';
import { PostgresJobRowStore } from './job-row-store.ts';
import {
  aRequestedJob as aJobIn,
  type Carrying,
  carrying as carryingAt,
  Gate,
  type OutboxAt,
} from './testing/test-outbox.ts';

let postgres: SharedPostgres;
let there: TestDatabase;
let database: Database;

beforeAll(async () => {
  postgres = migratedPostgres();
  there = await createTestDatabase(postgres, 'queue');
  ({ database } = there);
});
afterAll(async () => {
  await there?.close();
});

const aRequestedJob = (cluster: Cluster, projectId?: string): Promise<string> => aJobIn(database, cluster, projectId);

/** The worker of that cluster, in the database of all tests unless one is given. */
const carrying = (
  cluster: Cluster,
  { at, ...options }: Parameters<typeof carryingAt>[2] & { readonly at?: OutboxAt } = {},
): Carrying => carryingAt(at ?? { database, queueUrl: there.urls.queue }, cluster, options);

describe('two clusters in one database', () => {
  it('each carries its own jobs, and leaves those of the other for it to come', async () => {
    const alpha = await ensureCluster(database, { name: 'alpha', id: undefined });
    const beta = await ensureCluster(database, { name: 'beta', id: undefined });
    // The other one's is first in line.
    const betas = await aRequestedJob(beta);
    const alphas = await aRequestedJob(alpha);

    const first = carrying(alpha);
    await waitFor(() => Promise.resolve(first.carried.includes(alphas)), { what: 'the job of alpha' });
    await first.queue.close();
    const left = await database.query<{ job_id: string }>('SELECT job_id FROM outbox');
    expect([first.carried, left.rows.map((row) => row.job_id)]).toEqual([[alphas], [betas]]);

    const second = carrying(beta);
    await waitFor(() => Promise.resolve(second.carried.includes(betas)), { what: 'the job of beta' });
    await second.queue.close();
    expect(second.carried).toEqual([betas]);
  });
});

describe('an entry', () => {
  let cluster: Cluster;
  let entries: ApplyEntries;

  beforeEach(async () => {
    cluster = await ensureCluster(database, { name: randomUUID(), id: undefined });
    entries = new ApplyEntries(database, cluster);
  });

  const change = async (jobId: string): Promise<void> => {
    await database.transaction(async (sql) => {
      const row = await findJobRow(sql, { clusterId: cluster.id, jobId, lock: true });
      if (row === undefined || !(await recordDesiredChange(sql, row, { labels: { at: randomUUID() } })))
        throw new Error('not written');
      await enqueueApply(sql, jobId, 'describe');
    });
  };
  const waiting = async (): Promise<number> => (await entries.figures()).entries;

  it('is one per job, however often the job is changed while it waits', async () => {
    const jobs = [await aRequestedJob(cluster), await aRequestedJob(cluster)];
    for (let time = 0; time < 20; time++) await Promise.all(jobs.map(change));
    expect(await entries.figures()).toMatchObject({ entries: 2, mostOfOneTurn: 1 });
    const { carried, queue } = carrying(cluster);
    await waitFor(async () => (await waiting()) === 0, { what: 'the entries to be applied' });
    await queue.close();
    expect([...carried].sort()).toEqual([...jobs].sort());
  });

  it('is applied once more when its job was changed meanwhile, and never twice at a time', async () => {
    const job = await aRequestedJob(cluster);
    const gate = new Gate();
    let atOnce = 0;
    let most = 0;
    const { carried, queue } = carrying(cluster, {
      apply: async () => {
        most = Math.max(most, (atOnce += 1));
        await gate.pass();
        atOnce -= 1;
      },
    });
    await waitFor(() => Promise.resolve(carried.length === 1), { what: 'the first run' });
    for (let time = 0; time < 5; time++) await change(job);
    gate.open();
    await waitFor(async () => (await waiting()) === 0, { what: 'the second run' });
    await queue.close();
    expect([carried, most]).toEqual([[job, job], 1]);
  });

  it('is taken by another worker when its own has died', async () => {
    const job = await aRequestedJob(cluster);
    const [turnId = ''] = await entries.dueTurns();
    expect((await entries.claim(turnId))?.jobId).toBe(job);
    expect([await entries.claim(turnId), await entries.dueTurns()]).toEqual([undefined, []]);
    await database.query("UPDATE outbox SET leased_until = now() - interval '1 s' WHERE job_id = $1", [job]);
    const { carried, queue } = carrying(cluster);
    await waitFor(async () => (await waiting()) === 0, { what: 'the entry of the dead worker' });
    await queue.close();
    expect(carried).toEqual([job]);
  });

  it('waits for no other project whose entries hang: each holds so many places, and no more', async () => {
    const hanging = randomUUID();
    const stuck: string[] = [];
    for (let index = 0; index < TURNS_OF_PROJECT + 3; index++) stuck.push(await aRequestedJob(cluster, hanging));
    const gate = new Gate();
    const { carried, queue } = carrying(cluster, {
      concurrency: TURNS_OF_PROJECT + 1,
      apply: async (jobId) => {
        if (stuck.includes(jobId)) await gate.pass();
      },
    });
    await waitFor(() => Promise.resolve(carried.length === TURNS_OF_PROJECT), { what: 'the turns that hang' });
    const others = [await aRequestedJob(cluster), await aRequestedJob(cluster), await aRequestedJob(cluster)];
    await waitFor(() => Promise.resolve(others.every((id) => carried.includes(id))), { what: 'the other projects' });
    expect(carried.filter((jobId) => stuck.includes(jobId))).toHaveLength(TURNS_OF_PROJECT);
    gate.open();
    await waitFor(async () => (await waiting()) === 0, { what: 'those that hung' });
    await queue.close();
  });

  it('waits for no projects whose applies run over time: together they hold half of the workers, one each', async () => {
    const hanging = await Promise.all(
      [1, 2, 3, 4].flatMap(() => {
        const project = randomUUID();
        return [1, 2, 3].map(async () => ({ project, jobId: await aRequestedJob(cluster, project) }));
      }),
    );
    const projectOf = new Map(hanging.map(({ project, jobId }) => [jobId, project]));
    const held: string[] = [];
    const ended = new Gate();
    const { carried, queue } = carrying(cluster, {
      concurrency: 4,
      budgets: { quickMs: 1_000, patientMs: 600_000 },
      apply: (jobId, signal = new AbortController().signal) => {
        const project = projectOf.get(jobId);
        if (project === undefined) return Promise.resolve();
        held.push(project);
        const { promise, reject } = Promise.withResolvers<void>();
        const end = (): void => {
          if (held.includes(project)) held.splice(held.indexOf(project), 1);
          reject(new Error('the webhook did not answer'));
        };
        void Promise.race([ended.pass(), once(signal, 'abort')]).then(end);
        return promise;
      },
    });
    await waitFor(() => Promise.resolve(held.length === 4), { what: 'hanging projects in all workers' });
    const others = await Promise.all([1, 2, 3, 4, 5, 6].map(() => aRequestedJob(cluster)));
    await waitFor(() => Promise.resolve(others.every((id) => carried.includes(id))), { what: 'the other projects' });
    await waitFor(() => Promise.resolve(held.length === 2), { what: 'half of the workers in trouble' });
    expect(new Set(held).size).toBe(2);
    ended.open();
    await queue.close();
  });

  it('is made of what an API of the release before has written, and of a pending row that has none', async () => {
    const [earlier, lost] = [await aRequestedJob(cluster), await aRequestedJob(cluster)];
    await database.query('DELETE FROM outbox WHERE job_id = ANY ($1::uuid[])', [[earlier, lost]]);
    for (let time = 0; time < 3; time++) await database.query('INSERT INTO outbox (job_id) VALUES ($1)', [earlier]);
    await entries.adoptEarlierRows();
    await database.query("UPDATE jobs SET updated_at = now() - interval '1 hour' WHERE id = $1", [lost]);
    await entries.restoreLost();
    const found = await database.query(
      'SELECT job_id AS "jobId", is_entry AS "isEntry", turn_id = project_id AS "isOfProject" FROM outbox JOIN jobs ON jobs.id = job_id WHERE jobs.id = ANY ($1::uuid[])',
      [[earlier, lost]],
    );
    expect(new Set(found.rows)).toEqual(
      new Set([earlier, lost].map((jobId) => ({ jobId, isEntry: true, isOfProject: true }))),
    );
  });

  it('goes before others of its project when it frees GPUs, and last when it only describes', async () => {
    const project = randomUUID();
    const [labelled, made, stopped] = [
      await aRequestedJob(cluster, project),
      await aRequestedJob(cluster, project),
      await aRequestedJob(cluster, project),
    ];
    await database.query('DELETE FROM outbox WHERE job_id = ANY ($1::uuid[])', [[labelled, stopped]]);
    await enqueueApply(database, labelled ?? '', 'describe');
    await enqueueApply(database, stopped ?? '', 'stop');
    const order = [];
    for (let time = 0; time < 3; time++) order.push((await entries.claim(project))?.jobId);
    expect(order).toEqual([stopped, made, labelled]);
  });

  it('that fails is tried again later each time, its job says why, and one that succeeds takes that back', async () => {
    const job = await aRequestedJob(cluster);
    const said = async (): Promise<unknown> => {
      const { rows } = await database.query<{ error: string | null; since: Date | null; retry: Date | null }>(
        'SELECT apply_error AS error, apply_failing_since AS since, apply_retry_at AS retry FROM jobs WHERE id = $1',
        [job],
      );
      return rows[0];
    };
    const kube = new FakeKubeApi();
    let isAway = true;
    kube.interfere = () => {
      if (isAway) throw new KubeApiError({ status: 0, reason: 'ConnectionFailed', message: 'ECONNREFUSED 10.0.0.1' });
    };
    const writer = new ClusterWriter({ rows: new PostgresJobRowStore(database, cluster), kube });
    const { carried, queue } = carrying(cluster, { apply: (jobId) => writer.apply(jobId) });
    await waitFor(() => Promise.resolve(carried.length >= 3), { what: 'three tries' });
    expect(await said()).toEqual({
      error: 'The Kubernetes API server does not answer.',
      since: expect.any(Date) as Date,
      retry: expect.any(Date) as Date,
    });
    isAway = false;
    await waitFor(async () => (await waiting()) === 0, { what: 'the try that succeeds' });
    await queue.close();
    expect(await said()).toEqual({ error: null, since: null, retry: null });
  });
});

describe('while a tenant keeps as many changes waiting as it may', () => {
  const JOBS_OF_A = 8;
  const gate = new Gate();
  let api: ApiUnderTest;
  let worker: Carrying;
  let system: Database;
  const tokens: Record<string, string> = {};
  const ofA: string[] = [];

  beforeAll(async () => {
    const databaseUrl = await postgres.createDatabase('turns');
    api = await startApiUnderTest({ databaseUrl });
    for (const name of ['a', 'b']) tokens[name] = await api.project(name);
    const { config, database: at, cluster } = api.running.infrastructure;
    system = await Database.connect({ url: databaseUrl, applicationName: 'turns test', maxConnections: 2 });
    const writer = new ClusterWriter({ rows: new PostgresJobRowStore(at, cluster), kube: new FakeKubeApi() });
    worker = carrying(cluster, {
      concurrency: 1,
      at: { database: at, queueUrl: config.databaseUrls.queue },
      apply: async (jobId) => {
        await gate.pass();
        await writer.apply(jobId);
      },
    });
    gate.open();
    for (let index = 0; index < JOBS_OF_A; index++) ofA.push((await submit('a', `a-${index}`)).body.id);
    await settled();
  });
  afterAll(async () => {
    gate.open();
    await worker?.queue.close();
    await api?.close();
    await system?.close();
  });

  const send = (
    project: string,
    path: string,
    { method = 'POST', body }: { method?: 'POST' | 'PATCH' | 'DELETE'; body?: object } = {},
  ): Promise<TestAnswer> =>
    api.send(method, `/v1/projects/${project}/jobs${path}`, {
      token: tokens[project] ?? '',
      ...(body === undefined ? {} : { body }),
    });
  const submit = (project: string, name: string): Promise<TestAnswer> =>
    send(project, '', { body: { name, spec: aJobSpec() } });
  const entriesOf = async (project: string): Promise<number> =>
    (await system.query('SELECT FROM outbox o JOIN projects p ON p.id = o.turn_id WHERE p.name = $1', [project])).rows
      .length;
  const settled = (): Promise<unknown> =>
    waitFor(async () => (await entriesOf('a')) + (await entriesOf('b')) === 0, { what: 'every entry to be applied' });
  const turnsOf = async (project: string): Promise<number> =>
    (
      await system.query(
        "SELECT FROM bullmq.job j JOIN projects p ON starts_with(j.id, p.id::text) WHERE p.name = $1 AND j.state IN ('waiting', 'active')",
        [project],
      )
    ).rows.length;

  const made = async (name: string): Promise<string> => {
    const { id } = (await submit('b', name)).body;
    await settled();
    return id as string;
  };
  it.each<[string, (name: string) => Promise<() => Promise<TestAnswer>>]>([
    ['submit', (name) => Promise.resolve(() => submit('b', name))],
    ['suspend', (name) => made(name).then((id) => () => send('b', `/${id}/suspend`))],
    [
      'resume',
      async (name) => {
        const id = await made(name);
        await send('b', `/${id}/suspend`);
        await settled();
        return () => send('b', `/${id}/resume`);
      },
    ],
    ['cancel', (name) => made(name).then((id) => () => send('b', `/${id}/cancel`))],
    [
      'label',
      (name) => made(name).then((id) => () => send('b', `/${id}`, { method: 'PATCH', body: { labels: { k: 'v' } } })),
    ],
    ['delete', (name) => made(name).then((id) => () => send('b', `/${id}`, { method: 'DELETE' }))],
  ])("another tenant's %s is applied in its turn", async (verb, prepare) => {
    const act = await prepare(`b-${verb}`);
    gate.shut();
    const changes: readonly ((id: string) => Promise<TestAnswer>)[] = [
      (id) => send('a', `/${id}/suspend`),
      (id) => send('a', `/${id}/resume`),
      (id) => send('a', `/${id}`, { method: 'PATCH', body: { labels: { before: verb } } }),
    ];
    // As urgent as an entry can be: what is urgent for one project is no more so than what another one asks for.
    for (const change of changes) {
      const answers = await Promise.all(ofA.map(change));
      expect(answers.every(({ status }) => status === 200)).toBe(true);
    }
    expect(await entriesOf('a')).toBe(JOBS_OF_A);
    await waitFor(async () => (await turnsOf('a')) === TURNS_OF_PROJECT, { what: 'the turns of a' });
    const before = worker.carried.length;
    expect((await act()).status).toBeLessThan(300);
    await waitFor(async () => (await turnsOf('b')) > 0, { what: 'the turn of b' });
    gate.open();
    await settled();
    const order = worker.carried.slice(before);
    const ahead = order.findIndex((jobId) => !ofA.includes(jobId));
    expect(ahead).toBeGreaterThanOrEqual(0);
    expect(ahead).toBeLessThanOrEqual(TURNS_OF_PROJECT);
    expect(order.length).toBeGreaterThanOrEqual(JOBS_OF_A);
  });
});
