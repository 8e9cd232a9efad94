import type { Attempt } from '@coxswain/api-types';
import { type RecordedJob, runKey } from '@coxswain/goodput';
import { firstOf, ofJob, type Sql } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import type { JobRow } from '../jobs/job-row.ts';

/** The most attempts that are counted, newest first; the answer says how many older ones are left out. */
const MAX_COUNTED_ATTEMPTS = 2_000;
/** Newest incidents that made steps longer. */
const MAX_COUNTED_COSTS = 500;
/** Newest checkpoints that are looked at for which runs saved. */
const MAX_COUNTED_SAVES = 20_000;

/** What is kept of a job, and how many of its attempts are left out. */
export async function readRecordedJob(
  sql: Sql,
  { cluster, row, now }: { readonly cluster: Cluster; readonly row: JobRow; readonly now: Date },
): Promise<{ readonly job: RecordedJob; readonly attemptsLeftOut: number }> {
  const { uid, namespace, status } = row;
  const newest = uid === null ? [] : await newestAttempts(sql, cluster, uid);
  const stepMsByEpoch = uid === null ? new Map<number, number>() : await meanStepTimes(sql, cluster, uid);
  const savedRuns = uid === null ? new Set<string>() : await runsThatSaved(sql, cluster, { uid, namespace });
  const job: RecordedJob = {
    createdAt: row.created_at.toISOString(),
    finishedAt: row.finished_at?.toISOString(),
    attempts: newest.map(({ attempt }) => attempt).toReversed(),
    progress: status.progress,
    stepMsByEpoch,
    savedRuns,
    stepCosts: await costsOf(sql, row.id),
    now,
  };
  return { job, attemptsLeftOut: Number(newest[0]?.in_all ?? 0) - newest.length };
}

async function newestAttempts(
  sql: Sql,
  cluster: Cluster,
  uid: string,
): Promise<readonly { readonly attempt: Attempt; readonly in_all: string }[]> {
  const found = await sql.query<{ attempt: Attempt; in_all: string }>(
    `SELECT attempt, count(*) OVER () AS in_all FROM attempts
      WHERE cluster_id = $1 AND job_uid = $2 ORDER BY epoch DESC LIMIT $3`,
    [cluster.id, uid, MAX_COUNTED_ATTEMPTS],
  );
  return found.rows;
}

/**
 * Of each epoch, from the widest level of its curve: a row for a thousand steps. Without the bucket of its first steps, which compile and warm up; an epoch of no more
 * steps than that has none.
 */
async function meanStepTimes(sql: Sql, cluster: Cluster, uid: string): Promise<ReadonlyMap<number, number>> {
  const kept = await sql.query<{ month: string }>(
    `SELECT s.month::text, ${ofJob('s.job_uid')} FROM job_series s
      WHERE s.cluster_id = $1 AND s.job_uid = $2 AND s.levels_removed_at IS NULL`,
    [cluster.id, uid],
  );
  const month = firstOf(kept)?.month;
  if (month === undefined) return new Map();
  const found = await sql.query<{ epoch: number; step_ms: number | null }>(
    `SELECT e.epoch, (sum(l.step_time_sum) - f.step_time_sum) / nullif(sum(l.steps) - f.steps, 0) AS step_ms
       FROM step_epochs e
       JOIN step_levels f ON f.cluster_id = e.cluster_id AND f.month = $3::date AND f.job_uid = e.job_uid AND f.epoch = e.epoch
                         AND f.width = 10 AND f.bucket = e.first_step / 10
       JOIN step_levels l ON l.cluster_id = e.cluster_id AND l.month = $3::date AND l.job_uid = e.job_uid AND l.epoch = e.epoch
                         AND l.width = 1000
      WHERE e.cluster_id = $1 AND e.job_uid = $2
      GROUP BY e.epoch, f.step_time_sum, f.steps`,
    [cluster.id, uid, month],
  );
  return new Map(found.rows.flatMap(({ epoch, step_ms: stepMs }) => (stepMs === null ? [] : [[epoch, stepMs]])));
}

async function costsOf(sql: Sql, jobId: string): Promise<RecordedJob['stepCosts']> {
  const found = await sql.query<{ incident: RecordedJob['stepCosts'][number] }>(
    `SELECT incident FROM incidents WHERE job_id = $1 AND incident ? 'costMsPerStep' ORDER BY noticed_at DESC LIMIT ${MAX_COUNTED_COSTS}`,
    [jobId],
  );
  return found.rows.map(({ incident }) => incident);
}

/** A UID is no secret: an object of another namespace that carries it is somebody else’s. */
async function runsThatSaved(
  sql: Sql,
  cluster: Cluster,
  { uid, namespace }: { readonly uid: string; readonly namespace: string },
): Promise<ReadonlySet<string>> {
  const found = await sql.query<{ epoch: number; incarnation: number }>(
    `SELECT DISTINCT (spec ->> 'epoch')::double precision AS epoch, coalesce(spec ->> 'incarnation', '1')::double precision AS incarnation
       FROM (SELECT spec FROM checkpoints WHERE cluster_id = $1 AND job_uid = $2 AND namespace = $3
              ORDER BY created_at DESC LIMIT $4) AS newest`,
    [cluster.id, uid, namespace, MAX_COUNTED_SAVES],
  );
  return new Set(found.rows.map(({ epoch, incarnation }) => runKey(epoch, incarnation)));
}
