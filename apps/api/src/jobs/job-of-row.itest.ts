import { randomUUID } from 'node:crypto';
import {
  ANNOTATIONS,
  type Attempt,
  type StepTime,
  type TrainingJob,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import { anAttempt, aTrainingJob, aVerification } from '@coxswain/api-types/testing';
import { aCheckpoint } from '@coxswain/lifecycle/testing';
import { Database, type Scope } from '@coxswain/persistence';
import type { SharedPostgres } from '@coxswain/test-harness';
import { createTestDatabase, migratedPostgres, type TestDatabase } from '../testing/test-database.ts';
import { projectJob } from '../projection/job-projection.ts';
import { projectCheckpoint } from '../projection/mirrors.ts';
import { findJob, findJobs, JOB_BY_ID, SELECT_JOB_IN_SHORT, type TimedJobRow, toJobSummaries } from './job-of-row.ts';

/* What stands in other tables is put together by the database, under its policies. */

const cluster = { id: randomUUID(), name: 'east' };
const project = randomUUID();
const scope: Scope = {
  clusterId: cluster.id,
  principalId: randomUUID(),
  reach: { kind: 'projects', ids: [project] },
};
let postgres: SharedPostgres;
let there: TestDatabase;

beforeAll(async () => {
  postgres = migratedPostgres();
  there = await createTestDatabase(postgres, 'jobs');
  await there.database.query('INSERT INTO clusters (id, name) VALUES ($1, $2)', [cluster.id, cluster.name]);
  await there.database.query("INSERT INTO projects (id, cluster_id, name) VALUES ($1, $2, 'research')", [
    project,
    cluster.id,
  ]);
});
afterAll(async () => {
  await there?.close();
});

interface JobHistory {
  readonly attempts?: readonly Attempt[];
  /** Median of each attempt. */
  readonly measured?: Readonly<Record<number, number>>;
}

async function aJob({ attempts = [], measured = {} }: JobHistory): Promise<string> {
  const [id, uid] = [randomUUID(), randomUUID()];
  const { database } = there;
  await database.query(
    `INSERT INTO jobs (id, cluster_id, uid, project_id, namespace, name, spec, state) VALUES ($1, $2, $3, $4, 'research', $5, '{}', 'Running')`,
    [id, cluster.id, uid, project, `j-${id}`],
  );
  for (const attempt of attempts)
    await database.query('INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) VALUES ($1, $2, $3, $4)', [
      cluster.id,
      uid,
      attempt.epoch,
      JSON.stringify(attempt),
    ]);
  for (const [epoch, medianMs] of Object.entries(measured))
    await database.query(
      'INSERT INTO measured_step_times (cluster_id, job_uid, epoch, median_step_ms, steps) VALUES ($1, $2, $3, $4, 7)',
      [cluster.id, uid, Number(epoch), medianMs],
    );
  return id;
}

const prediction = { stepMs: 110, peakBytes: 1, gpuType: 'h100', microBatchSize: 1, plannerVersion: '1' };
const predicted = anAttempt({ epoch: 2, prediction });

describe('the step time of a job', () => {
  it.each<[string, JobHistory, StepTime | null]>([
    ['is unknown before anything was predicted or measured', { attempts: [anAttempt({ epoch: 1 })] }, null],
    [
      'is predicted before it was measured, as the newest attempt was that was predicted',
      {
        attempts: [
          anAttempt({ epoch: 1, prediction: { ...prediction, stepMs: 90 } }),
          predicted,
          anAttempt({ epoch: 3 }),
        ],
      },
      { epoch: 2, predictedMs: 110, measuredMs: null, measuredSteps: 0, errorPct: null },
    ],
    [
      'is measured where nothing was predicted',
      { attempts: [anAttempt({ epoch: 1 })], measured: { 1: 100.25 } },
      { epoch: 1, predictedMs: null, measuredMs: 100.25, measuredSteps: 7, errorPct: null },
    ],
    [
      'has an error where it was both, of the newest attempt that was measured',
      { attempts: [predicted, anAttempt({ epoch: 3, prediction })], measured: { 1: 50, 2: 100 } },
      { epoch: 2, predictedMs: 110, measuredMs: 100, measuredSteps: 7, errorPct: 10 },
    ],
    [
      'compares no prediction with another attempt’s measurement',
      { attempts: [predicted, anAttempt({ epoch: 3 })], measured: { 3: 100 } },
      { epoch: 3, predictedMs: null, measuredMs: 100, measuredSteps: 7, errorPct: null },
    ],
  ])('%s', async (_sentence, history, want) => {
    const jobId = await aJob(history);
    await there.tenantDatabase.within(scope, async (sql) => {
      expect((await findJob(sql, cluster, { jobId, projectId: project }))?.stepTime).toEqual(want);
      const { rows } = await sql.query<TimedJobRow>(`${SELECT_JOB_IN_SHORT} WHERE j.id = $1`, [jobId]);
      const listed = (details: readonly 'spec'[]): ReturnType<typeof toJobSummaries> =>
        toJobSummaries(sql, cluster, rows, { details, maxBytes: 1 });
      expect((await listed([])).map(({ stepTime }) => stepTime)).toEqual([want]);
      expect((await listed(['spec'])).map(({ stepTime }) => stepTime)).toEqual([want]);
    });
  });
});

describe('the place of a job that waits', () => {
  const since = (minute: number): string => `2026-01-01T00:0${minute}:00.000Z`;

  /** As the resource of the job would be. */
  function resourceOf(
    uid: string,
    placed: { readonly minute: number; readonly reason: string },
    namespace: string,
  ): TrainingJob {
    const { minute, reason } = placed;
    const condition = {
      type: 'Placed',
      status: 'False',
      reason,
      message: '',
      observedGeneration: 1,
      lastTransitionTime: since(minute),
    };
    return aTrainingJob({
      metadata: { uid, name: `j-${uid}`, namespace, resourceVersion: '7' },
      status: { state: 'Queued', summary: 'It waits.', conditions: [condition] } as unknown as TrainingJobStatus,
    });
  }

  async function waiting(minute: number, reason = 'WaitingForCapacity', namespace = 'queue'): Promise<string> {
    const job = resourceOf(randomUUID(), { minute, reason }, namespace);
    const { jobId = '' } = (await there.database.transaction((sql) => projectJob(sql, cluster, job))) ?? {};
    await there.database.query('UPDATE jobs SET project_id = $2 WHERE id = $1', [jobId, project]);
    return jobId;
  }

  const placesOf = (...jobIds: readonly string[]): Promise<readonly unknown[]> =>
    there.tenantDatabase.within(scope, (sql) =>
      Promise.all(jobIds.map(async (jobId) => (await findJob(sql, cluster, { jobId }))?.jobsBefore)),
    );

  it('counts the jobs of its namespace that have waited longer', async () => {
    const [second, first, third] = [await waiting(2), await waiting(1), await waiting(3, 'TopologyUnsatisfiable')];
    await waiting(0, 'WaitingForCapacity', 'elsewhere');
    const runs = await waiting(0, 'GangPlaced');
    const finished = await waiting(0);
    await there.database.query('UPDATE jobs SET finished_at = now() WHERE id = $1', [finished]);
    expect(await placesOf(first, second, third, runs, finished)).toEqual([0, 1, 2, null, null]);
  });

  it('is right again after a release that does not record waits, though no resource changed', async () => {
    const [namespace, uid] = ['rolled-back', randomUUID()];
    const projected = (reason: string): Promise<unknown> =>
      there.database.transaction((sql) => projectJob(sql, cluster, resourceOf(uid, { minute: 1, reason }, namespace)));
    await projected('WaitingForCapacity');
    await there.database.query('UPDATE jobs SET project_id = $2 WHERE uid = $1', [uid, project]);
    const later = await waiting(2, 'WaitingForCapacity', namespace);
    const setOfEarlier = (waitsSince: string | null): Promise<unknown> =>
      there.database.query('UPDATE jobs SET waits_since = $2 WHERE uid = $1', [uid, waitsSince]);
    await setOfEarlier(null);
    expect(await placesOf(later)).toEqual([0]);
    await projected('WaitingForCapacity');
    expect(await placesOf(later)).toEqual([1]);
    await projected('GangPlaced');
    expect(await placesOf(later)).toEqual([0]);
  });

  it('is counted in the index of jobs that wait, without a status', async () => {
    await there.database.query('ANALYZE jobs');
    const plan = await there.database.transaction(async (sql) => {
      await sql.query('SET LOCAL enable_seqscan = off');
      return sql.query(`EXPLAIN ${JOB_BY_ID.text}`, [randomUUID(), cluster.id, null]);
    });
    expect(JSON.stringify(plan.rows)).toContain('jobs_that_wait');
  });
});

describe('a checkpoint in its row', () => {
  it('is right again after a release that does not record what it holds, though its object did not change', async () => {
    const job = aTrainingJob();
    const status = { state: 'Complete', suspect: {}, absent: {}, verification: aVerification() };
    const { metadata, ...rest } = aCheckpoint(job, { status: status as never });
    const uid = randomUUID();
    const pinned = { ...metadata, uid, resourceVersion: '7', annotations: { [ANNOTATIONS.pin]: 'paper' } };
    const project = (): Promise<void> =>
      there.database.transaction((sql) => projectCheckpoint(sql, cluster, { ...rest, metadata: pinned }));
    const read = async (): Promise<unknown> => {
      const columns = `is_suspect, pin, verification IS NOT NULL AS is_verified, retention->'isAbsent' AS is_absent`;
      return (await there.database.query(`SELECT ${columns} FROM checkpoints WHERE uid = $1`, [uid])).rows;
    };
    await project();
    for (const left of ['is_suspect = false, pin = NULL, verification = NULL', 'retention = NULL']) {
      await there.database.query(`UPDATE checkpoints SET ${left} WHERE uid = $1`, [uid]);
      await project();
      expect(await read()).toEqual([{ is_suspect: true, pin: 'paper', is_verified: true, is_absent: true }]);
    }
  });
});

describe('a job as it is read', () => {
  it('has its attempts in their order, and none of others', async () => {
    const jobId = await aJob({ attempts: [3, 1, 2].map((epoch) => anAttempt({ epoch })) });
    await aJob({ attempts: [anAttempt({ epoch: 9 })] });
    const jobs = await there.tenantDatabase.within(scope, (sql) =>
      findJobs(sql, cluster, { jobIds: [jobId, randomUUID()], projectId: project }),
    );
    expect(jobs.map(({ attempts }) => attempts.map(({ epoch }) => epoch))).toEqual([[1, 2, 3]]);
  });

  it('is read again and again by the statement that a connection keeps, while a release adds a column', async () => {
    const jobId = await aJob({});
    const read = (): Promise<unknown> =>
      there.tenantDatabase.within(scope, async (sql) => (await findJob(sql, cluster, { jobId }))?.id);
    for (let time = 0; time < 8; time += 1) expect(await read()).toBe(jobId);
    const migrator = await Database.connect({ url: there.urls.migrator, applicationName: 'jobs test' });
    try {
      await migrator.query('ALTER TABLE jobs ADD COLUMN of_the_next_release text');
      expect(await read()).toBe(jobId);
    } finally {
      await migrator.query('ALTER TABLE jobs DROP COLUMN IF EXISTS of_the_next_release');
      await migrator.close();
    }
    expect(await read()).toBe(jobId);
  });

  it('is found by nobody in another scope, on the same connection', async () => {
    const jobId = await aJob({});
    const elsewhere: Scope = { ...scope, reach: { kind: 'projects', ids: [randomUUID()] } };
    for (let time = 0; time < 8; time += 1) {
      const seen = await Promise.all(
        [scope, elsewhere].map((asked) =>
          there.tenantDatabase.within(asked, async (sql) => (await findJob(sql, cluster, { jobId }))?.id),
        ),
      );
      expect(seen).toEqual([jobId, undefined]);
    }
  });
});
