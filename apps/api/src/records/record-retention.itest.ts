import { randomUUID } from 'node:crypto';
import { aJobSpec } from '@coxswain/api-types/testing';
import type { Database } from '@coxswain/persistence';
import { createLogger } from '@coxswain/telemetry';
import type { SharedPostgres } from '@coxswain/test-harness';
import type { Cluster } from '../infrastructure/tokens.ts';
import { removeJobRecords } from '../jobs/job-table.ts';
import { markJobGone, projectJob } from '../projection/job-projection.ts';
import { SeriesStore } from '../series/series-store.ts';
import { aStepFrame } from '../series/testing/a-step-frame.ts';
import { createTestDatabase, migratedPostgres, type TestDatabase } from '../testing/test-database.ts';
import { twoClusters } from '../testing/two-clusters.ts';
import { RECORDS_AT_ONCE } from './old-records.ts';
import { sweepRecords } from './record-retention.ts';

let postgres: SharedPostgres;
let there: TestDatabase;
let database: Database;
let here: Cluster;
let elsewhere: Cluster;
const logger = createLogger({ program: 'test', level: 'silent' });
const never = new AbortController().signal;
const DAY_MIN = 1_440;

beforeAll(async () => {
  postgres = migratedPostgres();
  there = await createTestDatabase(postgres, 'records');
  ({ database } = there);
  ({ here, elsewhere } = await twoClusters(database));
});
afterAll(async () => {
  await there?.close();
});

const aProject = async (cluster = here): Promise<string> => {
  const id = randomUUID();
  await database.query('INSERT INTO projects (id, cluster_id, name) VALUES ($1, $2, $3)', [id, cluster.id, id]);
  return id;
};
interface Given {
  readonly project: string | null;
  /** Undefined: it is in the cluster still. */
  readonly goneMinutesAgo?: number;
  readonly wasRefused?: boolean;
  readonly cluster?: Cluster;
}
interface Row {
  readonly id: string;
  readonly uid: string;
}
/** A job of a project, which ended long ago; refused ones have never had a resource. */
const aJob = async ({ project, goneMinutesAgo, wasRefused = false, cluster = here }: Given): Promise<Row> => {
  const [id, uid] = [randomUUID(), randomUUID()];
  await database.query(
    `INSERT INTO jobs (id, cluster_id, project_id, uid, namespace, name, spec, labels, state, finished_at, deleted_at)
     VALUES ($1, $2, $3, $4, 'research', $6, '{}', '{"team": "vision"}', $7,
             CASE WHEN $8 THEN now() - make_interval(mins => $5) ELSE now() - interval '900 days' END,
             CASE WHEN NOT $8 THEN now() - make_interval(mins => $5) END)`,
    [
      id,
      cluster.id,
      project,
      wasRefused ? null : uid,
      goneMinutesAgo ?? null,
      `run.${id}`,
      wasRefused ? 'Refused' : goneMinutesAgo === undefined ? 'Complete' : 'Deleted',
      wasRefused,
    ],
  );
  return { id, uid };
};
/** So many, the first of them the oldest: gone after one minute, two, three. */
const records = async (project: string | null, count: number, cluster = here): Promise<readonly Row[]> => {
  const made: Row[] = [];
  for (let index = 0; index < count; index++)
    made.push(await aJob({ project, goneMinutesAgo: 2 * (count - index), cluster }));
  return made;
};
const sweepOf = (ofProject: number, days: number, mostStatements?: number): ReturnType<typeof sweepRecords> =>
  sweepRecords({ database, cluster: here, bounds: { ofProject, days }, logger }, never, mostStatements);
const sweep = async (...of: Parameters<typeof sweepOf>): Promise<number> => (await sweepOf(...of)).removed;
const left = async (rows: readonly Row[]): Promise<readonly number[]> => {
  const found = await database.query<{ id: string }>('SELECT id FROM jobs WHERE id = ANY ($1)', [
    rows.map(({ id }) => id),
  ]);
  const ids = new Set(found.rows.map(({ id }) => id));
  return rows.flatMap(({ id }, index) => (ids.has(id) ? [index] : []));
};
const count = async (text: string, parameters: readonly unknown[]): Promise<number> =>
  (await database.query(text, parameters)).rows.length;

describe('records of jobs that are gone', () => {
  it('are so many of each project, the newest, and of those that are of none; another cluster keeps its own', async () => {
    const [greedy, modest] = [await aProject(), await aProject()];
    const of = [await records(greedy, 7), await records(modest, 2), await records(null, 5)];
    const theirs = [await records(await aProject(elsewhere), 5, elsewhere), await records(null, 5, elsewhere)];
    expect(await sweep(3, 0)).toBe(6);
    expect(await Promise.all(of.map(left))).toEqual([
      [4, 5, 6],
      [0, 1],
      [2, 3, 4],
    ]);
    expect((await Promise.all(theirs.map(left))).map(({ length }) => length)).toEqual([5, 5]);
    expect(await sweep(3, 0)).toBe(0);
    expect(await sweep(0, 0)).toBe(0);
  });

  it.each<[string, Omit<Given, 'project'>, boolean]>([
    ['that is younger than its days is kept', { goneMinutesAgo: 30 * DAY_MIN - 1 }, true],
    ['that is older goes', { goneMinutesAgo: 30 * DAY_MIN + 1 }, false],
    ['of a refused job goes then', { goneMinutesAgo: 30 * DAY_MIN + 1, wasRefused: true }, false],
    ['of a refused job is kept until then', { goneMinutesAgo: 5, wasRefused: true }, true],
    ['of a job that is still in the cluster never goes, however long ago it ended', {}, true],
  ])('one %s', async (_sentence, given, isKept) => {
    const job = await aJob({ project: await aProject(), ...given });
    await sweep(0, 30);
    expect(await left([job])).toEqual(isKept ? [0] : []);
  });

  it.each([
    ['is kept so many days after its object', 29, 1],
    ['goes then', 31, 0],
  ])('of an adopted checkpoint %s', async (_sentence, days, kept) => {
    const uid = randomUUID();
    await database.query(
      `INSERT INTO checkpoints (cluster_id, uid, namespace, name, job_uid, spec, state, resource_version, created_at, deleted_at)
       VALUES ($1, $2, 'n', $2, '', '{}', 'Unverified', 1, now(), now() - make_interval(days => $3::integer))`,
      [here.id, uid, days],
    );
    await sweep(0, 30);
    expect(await count('SELECT 1 FROM checkpoints WHERE uid = $1', [uid])).toBe(kept);
  });

  it('goes no sooner than a minute after its job, however many there are', async () => {
    const project = await aProject();
    const [young, old] = [await aJob({ project, goneMinutesAgo: 0 }), await aJob({ project, goneMinutesAgo: 5 })];
    await aJob({ project, goneMinutesAgo: 0 });
    await sweep(1, 0);
    expect(await left([young, old])).toEqual([0]);
  });

  it.each<[string, string]>([
    [
      'whose checkpoint is in the cluster',
      `INSERT INTO checkpoints (cluster_id, uid, namespace, name, job_uid, spec, state, resource_version, created_at)
       SELECT cluster_id, id::text, namespace, name, uid, '{}', 'Complete', 1, now() FROM jobs WHERE id = $1`,
    ],
    [
      'whose placement is in the cluster',
      `INSERT INTO placements (cluster_id, uid, namespace, name, job_uid, epoch, spec, resource_version)
       SELECT cluster_id, id::text, namespace, name, uid, 1, '{}', 1 FROM jobs WHERE id = $1`,
    ],
    ['of which the outbox holds something', 'INSERT INTO outbox (job_id) SELECT id FROM jobs WHERE id = $1'],
  ])('%s stays until that is gone, and holds up no other', async (_sentence, insert) => {
    const project = await aProject();
    const [holding, other] = await records(project, 3);
    if (holding === undefined || other === undefined) throw new Error('there are three');
    await database.query(insert, [holding.id]);
    await sweep(1, 30);
    expect(await left([holding, other])).toEqual([0]);
    for (const table of ['checkpoints', 'placements'])
      await database.query(`UPDATE ${table} SET deleted_at = now() WHERE job_uid = $1`, [holding.uid]);
    await database.query('DELETE FROM outbox WHERE job_id = $1', [holding.id]);
    await sweep(1, 30);
    expect(await left([holding, other])).toEqual([]);
    for (const table of ['checkpoints', 'placements'])
      expect(await count(`SELECT 1 FROM ${table} WHERE job_uid = $1`, [holding.uid])).toBe(0);
  });

  it('of whose checkpoint somebody else tells, in another namespace, goes', async () => {
    const [job] = await records(await aProject(), 2);
    await database.query(
      `INSERT INTO checkpoints (cluster_id, uid, namespace, name, job_uid, spec, state, resource_version, created_at)
       VALUES ($1, $2, 'rivals', 'forged', $2, '{}', 'Complete', 1, now())`,
      [here.id, job?.uid],
    );
    await sweep(1, 0);
    expect(job && (await left([job]))).toEqual([]);
  });
});

describe('a record that goes', () => {
  const REST = ['attempts', 'measured_step_times', 'rank_steps', 'step_epochs', 'job_series', 'steps', 'step_levels'];
  /** Everything that there can be of a job. */
  const withAll = async ({ id, uid }: Row): Promise<void> => {
    const frames = Array.from({ length: 25 }, (_, step) =>
      aStepFrame({ jobUid: uid, step: step + 1, ranks: [{ rank: 0, stepTimeMs: 100, timingsMs: {} }] }),
    );
    await new SeriesStore(database, here).write(frames, []);
    await database.query(
      "INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) VALUES ($1, $2, 1, '{}') ON CONFLICT DO NOTHING",
      [here.id, uid],
    );
    await database.query(
      'INSERT INTO measured_step_times (cluster_id, job_uid, epoch, median_step_ms, steps) VALUES ($1, $2, 7, 9, 9)',
      [here.id, uid],
    );
    await database.query(
      "INSERT INTO job_events (job_id, key, type, severity, message, at) VALUES ($1, 'a', 'Made', 'info', 'It is there.', now())",
      [id],
    );
  };
  const rowsOf = async ({ id, uid }: Row): Promise<Readonly<Record<string, number>>> => {
    const counts: Record<string, number> = {};
    for (const table of REST) counts[table] = await count(`SELECT 1 FROM ${table} WHERE job_uid = $1`, [uid]);
    for (const table of ['job_events', 'job_labels', 'job_name_words'])
      counts[table] = await count(`SELECT 1 FROM ${table} WHERE job_id = $1`, [id]);
    return counts;
  };

  it('takes along all that is known of its job, and nothing of another', async () => {
    const project = await aProject();
    const [old, young] = await records(project, 2);
    if (old === undefined || young === undefined) throw new Error('there are two');
    for (const job of [old, young]) await withAll(job);
    const before = await rowsOf(young);
    expect(Object.entries(before).filter(([, rows]) => rows === 0)).toEqual([]);
    await sweep(1, 0);
    expect(Object.values(await rowsOf(old))).toEqual(Object.values(before).map(() => 0));
    expect(await rowsOf(young)).toEqual(before);
  });

  it('is gone whole in the end, wherever a sweep that may do no more left off', async () => {
    const project = await aProject();
    const [old] = await records(project, 2);
    if (old === undefined) throw new Error('there are two');
    await withAll(old);
    let sweeps = 0;
    for (let statements = 1; statements < 100 && (await left([old])).length > 0; statements++, sweeps++) {
      expect(await count('SELECT 1 FROM jobs WHERE id = $1', [old.id])).toBe(1);
      await sweep(1, 0, statements);
    }
    expect(await left([old])).toEqual([]);
    expect(sweeps).toBeGreaterThan(5);
    expect(Object.values(await rowsOf(old)).some((rows) => rows > 0)).toBe(false);
  });

  it('is looked at anew before it goes: a job that is in the cluster, and one that is on its way there, stay', async () => {
    const project = await aProject();
    const jobs = [
      await aJob({ project }),
      await aJob({ project, goneMinutesAgo: 9 }),
      await aJob({ project, goneMinutesAgo: 9, wasRefused: true }),
      await aJob({ project, goneMinutesAgo: 9 }),
      await aJob({ project, goneMinutesAgo: 9, wasRefused: true }),
    ];
    await database.query("UPDATE jobs SET uid = id::text, state = 'Running' WHERE id = $1", [jobs[2]?.id]);
    await database.query('INSERT INTO outbox (job_id) VALUES ($1)', [jobs[1]?.id]);
    const ids = jobs.map(({ id }) => id);
    const removed = await database.transaction((sql) => removeJobRecords(sql, here, ids));
    expect([removed.length, await left(jobs)]).toEqual([2, [0, 1, 2]]);
    expect(await database.transaction((sql) => removeJobRecords(sql, elsewhere, ids))).toEqual([]);
  });

  it('is one of a bounded number: the next sweep goes on, and every project has its turn', async () => {
    const [many, few] = [await aProject(), await aProject()];
    const [of, others] = [await records(many, 2 * RECORDS_AT_ONCE + 10), await records(few, 3)];
    // Two statements for each of the rest, and at least one for whoever comes first.
    const first = await sweepOf(1, 0, 12);
    expect(first.removed).toBeGreaterThanOrEqual(2);
    expect(first.removed).toBeLessThan(of.length + others.length - 2);
    expect([first.isDone, (await sweepOf(1, 0)).isDone]).toEqual([false, true]);
    expect([await left(of), await left(others)]).toEqual([[of.length - 1], [2]]);
  });

  it('is one of a bounded number: a sweep says that it was cut short, be it at the last project of its order', async () => {
    // In a cluster without projects those of no project are all there is.
    const cluster = { id: randomUUID(), name: 'without projects' };
    await database.query('INSERT INTO clusters (id, name) VALUES ($1, $2)', [cluster.id, cluster.name]);
    await records(null, 3, cluster);
    const parts = { database, cluster, bounds: { ofProject: 1, days: 0 }, logger };
    expect(await sweepRecords(parts, never, 2)).toEqual({ removed: 0, isDone: false });
    expect(await sweepRecords(parts, never)).toEqual({ removed: 2, isDone: true });
  });

  it('comes back as a job that was found, and goes again, when a replica still saw the job', async () => {
    const project = await aProject();
    const [old] = await records(project, 2);
    if (old === undefined) throw new Error('there are two');
    await sweep(1, 0);
    const metadata = { name: `run.${old.id}`, namespace: 'research', uid: old.uid, resourceVersion: '7' };
    const job = { metadata, spec: aJobSpec(), status: {} } as Parameters<typeof projectJob>[2];
    const { jobId = '' } = (await database.transaction((sql) => projectJob(sql, here, job))) ?? {};
    expect(jobId).not.toBe(old.id);
    await markJobGone(database, here, { ...metadata, seenUpTo: '8' });
    expect(await count('SELECT 1 FROM jobs WHERE id = $1 AND deleted_at IS NOT NULL', [jobId])).toBe(1);
  });
});
