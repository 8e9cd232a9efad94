import {
  type ApplyFailure,
  type Attempt,
  effectiveLayout,
  gpuCount,
  isPlanOf,
  type Job,
  type JobDetail,
  type JobSummary,
  type StepTime,
  stepsOf,
  whyNotTraining,
} from '@coxswain/api-types';
import { newestFailure } from '@coxswain/lifecycle';
import { firstOf, type NamedStatement, type Sql } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import { errorPctOf } from '../plans/accuracy.ts';
import { COLUMNS, COLUMNS_IN_SHORT, desiredLabels, desiredSpec, type JobRow, JOBS } from './job-row.ts';
import { shownState } from './shown-state.ts';

/*
 * What users see of a job. One statement reads its row and what other tables say of it: under policies a statement costs more to plan and to carry than to run.
 */

/** What was predicted and measured of a job; null before either was. */
type TimeColumn = Pick<StepTime, 'epoch' | 'predictedMs' | 'measuredMs' | 'measuredSteps'> | null;

/** A row with that. */
export interface TimedJobRow extends JobRow {
  readonly step_time: TimeColumn;
}

/** A row with that and the whole history of its attempts. */
interface WholeJobRow extends TimedJobRow {
  readonly attempts: readonly Attempt[];
  /** Null: it does not wait for GPUs. Absent: not asked for. */
  readonly jobs_before?: number | null;
}

/** Of the newest attempt that was measured; of the newest that was predicted before any was. */
const STEP_TIME = `(
  SELECT jsonb_build_object('epoch', coalesce(m.epoch, a.epoch), 'predictedMs', a.step_ms, 'measuredMs', m.median_step_ms, 'measuredSteps', coalesce(m.steps, 0))
    FROM (VALUES (1)) AS one (row)
    LEFT JOIN LATERAL (
      SELECT epoch, median_step_ms, steps FROM measured_step_times
       WHERE cluster_id = j.cluster_id AND job_uid = j.uid ORDER BY epoch DESC LIMIT 1) AS m ON true
    LEFT JOIN LATERAL (
      SELECT epoch, attempt -> 'prediction' -> 'stepMs' AS step_ms FROM attempts
       WHERE cluster_id = j.cluster_id AND job_uid = j.uid AND (m.epoch IS NULL OR epoch = m.epoch) AND jsonb_exists(attempt, 'prediction')
       ORDER BY epoch DESC LIMIT 1) AS a ON true
   WHERE m.epoch IS NOT NULL OR a.epoch IS NOT NULL) AS step_time`;

const ATTEMPTS = `(
  SELECT coalesce(jsonb_agg(attempt ORDER BY epoch), '[]') FROM attempts WHERE cluster_id = j.cluster_id AND job_uid = j.uid) AS attempts`;

/** Jobs of the namespace that have waited for GPUs longer. Counted only for a job that waits, in an index that has only jobs that wait. */
const JOBS_BEFORE = `CASE WHEN j.finished_at IS NULL AND j.waits_since IS NOT NULL THEN (
  SELECT count(*)::integer FROM jobs w
   WHERE w.cluster_id = j.cluster_id AND w.namespace = j.namespace AND w.deleted_at IS NULL AND w.finished_at IS NULL
     AND w.waits_since < j.waits_since) END AS jobs_before`;

/** Gives {@link WholeJobRow}; a condition on `j` follows. */
const SELECT_WHOLE_JOB = `SELECT ${COLUMNS}, ${STEP_TIME}, ${ATTEMPTS}, ${JOBS_BEFORE} FROM ${JOBS}`;

/** Gives {@link TimedJobRow} in short. What stands in other tables is looked up for the rows of the page alone: Postgres sorts before it selects what is dear. */
export const SELECT_JOB_IN_SHORT = `SELECT ${COLUMNS_IN_SHORT}, ${STEP_TIME} FROM ${JOBS}`;

/** Asked more often than anything else, and by a key: planned once on each connection. */
export const JOB_BY_ID: NamedStatement = {
  name: 'job_by_id',
  text: `${SELECT_WHOLE_JOB} WHERE j.id = $1 AND j.cluster_id = $2 AND ($3::uuid IS NULL OR j.project_id = $3)`,
};

/** A job of the cluster, and where a project is named, of that one. */
export async function findJob(
  sql: Sql,
  cluster: Cluster,
  wanted: { readonly jobId: string; readonly projectId?: string | null },
): Promise<Job | undefined> {
  const row = firstOf(await sql.query<WholeJobRow>(JOB_BY_ID, [wanted.jobId, cluster.id, wanted.projectId ?? null]));
  return row === undefined ? undefined : toJob(row, cluster);
}

/** Those of the jobs that there are, in any order. */
export async function findJobs(
  sql: Sql,
  cluster: Cluster,
  wanted: { readonly jobIds: readonly string[]; readonly projectId: string | null },
): Promise<readonly Job[]> {
  const found = await sql.query<WholeJobRow>(
    `${SELECT_WHOLE_JOB} WHERE j.cluster_id = $1 AND ($2::uuid IS NULL OR j.project_id = $2) AND j.id = ANY ($3::uuid[])`,
    [cluster.id, wanted.projectId, wanted.jobIds],
  );
  return found.rows.map((row) => toJob(row, cluster));
}

/**
 * The list items of rows, in their order. Rows may have been read without details. Requested `details` are read until they exceed `maxBytes`
 * together, but always for the first row; the list ends with the last row whose details were read.
 */
export async function toJobSummaries(
  sql: Sql,
  cluster: Cluster,
  rows: readonly TimedJobRow[],
  wanted: { readonly details: readonly JobDetail[]; readonly maxBytes: number },
): Promise<readonly JobSummary[]> {
  if (wanted.details.length === 0) return rows.map((row) => summaryOf(row, cluster));
  const whole = await wholeRowsOf(sql, { ids: rows.map(({ id }) => id), maxBytes: wanted.maxBytes });
  return whole.map((row) => {
    const { spec, plan, attempts, conditions } = toJob(row, cluster);
    const details: Record<JobDetail, unknown> = { spec, plan, attempts, conditions };
    return { ...summaryOf(row, cluster), ...Object.fromEntries(wanted.details.map((name) => [name, details[name]])) };
  });
}

/** The rows in the order of `ids`, up to that many bytes of specs, statuses and attempts as the database writes them. */
async function wholeRowsOf(
  sql: Sql,
  wanted: { readonly ids: readonly string[]; readonly maxBytes: number },
): Promise<readonly WholeJobRow[]> {
  const found = await sql.query<WholeJobRow>(
    `SELECT ${COLUMNS}, ${STEP_TIME}, ${ATTEMPTS}
       FROM (
         SELECT w.id, w.position,
                sum(octet_length(s.spec::text) + octet_length(s.status::text) + coalesce(a.bytes, 0)) OVER (ORDER BY w.position) AS bytes
           FROM unnest($1::uuid[]) WITH ORDINALITY AS w (id, position)
           JOIN jobs s ON s.id = w.id
           LEFT JOIN LATERAL (
             SELECT sum(octet_length(attempt::text)) AS bytes FROM attempts WHERE cluster_id = s.cluster_id AND job_uid = s.uid
           ) AS a ON true
       ) AS sized
       JOIN jobs j ON j.id = sized.id LEFT JOIN projects p ON p.id = j.project_id
      WHERE sized.bytes <= $2 OR sized.position = 1
      ORDER BY sized.position`,
    [wanted.ids, wanted.maxBytes],
  );
  return found.rows;
}

/** A plan answers the spec that it was made for; what was asked since is still to be planned. */
function planOf({ status }: JobRow, spec: Parameters<typeof isPlanOf>[1]): JobRow['status']['plan'] {
  return status.plan !== undefined && isPlanOf(status.plan, spec) ? status.plan : undefined;
}

function toJob(row: WholeJobRow, cluster: Cluster): Job {
  const spec = desiredSpec(row);
  const summary = summaryOf(row, cluster);
  const conditions = row.status.conditions ?? [];
  return {
    ...summary,
    spec,
    plan: planOf(row, spec) ?? null,
    attempts: [...row.attempts],
    conditions,
    whyNotTraining: whyNotTraining({ ...summary, conditions }) ?? null,
    jobsBefore: row.jobs_before ?? null,
    lastFailure: newestFailure({
      name: row.name,
      state: summary.state,
      attempts: row.attempts,
      notBefore: row.status.notBefore,
    }),
  };
}

/** Without what a list leaves out. */
function summaryOf(row: TimedJobRow, cluster: Cluster): JobSummary {
  const { status } = row;
  const spec = desiredSpec(row);
  const progress = status.progress;
  const layout = effectiveLayout(spec, planOf(row, spec)) ?? null;
  return {
    id: row.id,
    project: row.project_name,
    cluster: cluster.name,
    namespace: row.namespace,
    name: row.name,
    labels: desiredLabels(row),
    owner: row.owner,
    uid: row.uid,
    ...shownState(row),
    gpus: gpuCount(layout, spec.gpus),
    layout,
    stepTime: row.step_time === null ? null : withError(row.step_time),
    applyFailure: applyFailureOf(row),
    epoch: status.epoch ?? 0,
    restarts: status.restarts ?? { total: 0, charged: 0 },
    totalSteps: progress?.totalSteps ?? stepsOf(spec) ?? null,
    progress:
      progress === undefined
        ? null
        : {
            step: progress.step,
            totalSteps: progress.totalSteps ?? null,
            loss: progress.loss ?? null,
            tokensPerSecond: progress.tokensPerSecond ?? null,
            etaSeconds: progress.etaSeconds ?? null,
            reportedAt: progress.reportedAt,
          },
    checkpoint: status.checkpoint ?? null,
    version: Number(row.version),
    specVersion: Number(row.spec_version),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
  };
}

function applyFailureOf(row: JobRow): ApplyFailure | null {
  const { apply_error: message, apply_failing_since: since, apply_retry_at: retryAt } = row;
  if (message === null) return null;
  return { message, since: (since ?? row.updated_at).toISOString(), retryAt: retryAt?.toISOString() ?? null };
}

function withError(time: NonNullable<TimeColumn>): StepTime {
  const { predictedMs, measuredMs } = time;
  return {
    ...time,
    errorPct: predictedMs === null || measuredMs === null ? null : errorPctOf(predictedMs, measuredMs),
  };
}
