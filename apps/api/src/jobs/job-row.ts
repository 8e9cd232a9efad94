import {
  type Attempt,
  effectiveLayout,
  gpuCount,
  isPlanOf,
  type Job,
  JOB_DETAILS,
  type JobDetail,
  type JobSummary,
  type ResumeFrom,
  type StepTime,
  type TrainingJobSpec,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { firstOf, type Sql } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import { errorPctOf } from '../plans/accuracy.ts';

/** States of a row that its resource does not have. */
export type RowState = Job['state'];

/** What makes the spec that a row asks for. */
export interface DesiredColumns {
  readonly spec: TrainingJobSpec;
  readonly desired_suspend: boolean | null;
  readonly desired_cancel: boolean;
  readonly desired_layout: ParallelLayout | null;
  readonly desired_gpus: number | null;
  readonly desired_resume_from: ResumeFrom | null;
  readonly desired_delete: boolean;
  /** As its resource has them, without ours. */
  readonly labels: Readonly<Record<string, string>>;
  /** A change of them on its way to the resource: null removes. */
  readonly desired_labels: Readonly<Record<string, string | null>> | null;
}

/** Their names. */
export const DESIRED =
  'spec, desired_suspend, desired_cancel, desired_layout, desired_gpus, desired_resume_from, desired_delete, labels, desired_labels';

/** A row of `jobs` as the driver gives it: bigint and numeric are text. */
export interface JobRow extends DesiredColumns {
  readonly id: string;
  readonly cluster_id: string;
  readonly uid: string | null;
  readonly project_id: string | null;
  readonly project_name: string | null;
  readonly namespace: string;
  readonly name: string;
  /** The principal that submitted it over the API; null for what was made in the cluster. */
  readonly submitted_by: string | null;
  /** Its name then. */
  readonly owner: string | null;
  readonly generation: string;
  readonly applied_generation: string;
  readonly state: RowState;
  readonly summary: string;
  readonly status: Partial<Omit<TrainingJobStatus, 'attempts'>>;
  readonly resource_version: string | null;
  readonly version: string;
  /** Counts changes of `desiredSpec` and `desiredLabels`. */
  readonly spec_version: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly finished_at: Date | null;
  readonly deleted_at: Date | null;
  /** To the microsecond, for cursors. */
  readonly created_at_text: string;
  readonly finished_at_text: string | null;
}

/** Everything of a job's row and the name of its project; a condition on `j` follows. */
export const SELECT_JOB = `
  SELECT j.*, p.name AS project_name, j.created_at::text AS created_at_text, j.finished_at::text AS finished_at_text
    FROM jobs j LEFT JOIN projects p ON p.id = j.project_id`;

/**
 * The columns of a row as far as a summary shows them: `spec` and `status` are reduced to what it is made of, so that a page of rows takes
 * little memory, however large the specs are.
 */
export const SELECT_JOB_IN_SHORT = `
  SELECT j.id, j.cluster_id, j.uid, j.project_id, j.namespace, j.name, j.labels, j.desired_labels, j.owner, j.submitted_by, j.desired_suspend, j.desired_cancel, j.desired_layout, j.desired_gpus,
         j.desired_resume_from, j.desired_delete, j.generation, j.applied_generation, j.state, left(j.summary, 1024) AS summary,
         j.resource_version, j.version, j.spec_version, j.created_at, j.updated_at, j.finished_at, j.deleted_at,
         jsonb_strip_nulls(jsonb_build_object(
           'layout', j.spec -> 'layout', 'gpus', j.spec -> 'gpus',
           'training', jsonb_build_object('steps', j.spec -> 'training' -> 'steps'))) AS spec,
         jsonb_strip_nulls(jsonb_build_object(
           'epoch', j.status -> 'epoch', 'restarts', j.status -> 'restarts', 'progress', j.status -> 'progress',
           'checkpoint', j.status -> 'checkpoint',
           'plan', jsonb_build_object(
             'chosenBy', j.status -> 'plan' -> 'chosenBy', 'gpus', j.status -> 'plan' -> 'gpus', 'layout', j.status -> 'plan' -> 'layout'))) AS status,
         p.name AS project_name, j.created_at::text AS created_at_text, j.finished_at::text AS finished_at_text
    FROM jobs j LEFT JOIN projects p ON p.id = j.project_id`;

/** The spec as it will be once everything that was asked has been applied: cancel stays, layout and suspend as asked last. */
export function desiredSpec(row: DesiredColumns): TrainingJobSpec {
  const { layout, gpus, ...rest } = row.spec;
  const resumeFrom = row.desired_resume_from ?? row.spec.resumeFrom;
  const division =
    row.desired_layout !== null
      ? { layout: row.desired_layout }
      : row.desired_gpus !== null
        ? { gpus: row.desired_gpus }
        : { ...(layout === undefined ? {} : { layout }), ...(gpus === undefined ? {} : { gpus }) };
  return {
    ...rest,
    ...division,
    ...(resumeFrom === undefined ? {} : { resumeFrom }),
    suspend: row.desired_suspend ?? row.spec.suspend,
    cancel: row.desired_cancel || row.spec.cancel,
  };
}

/** The labels as they will be then, in the order of their keys. */
export function desiredLabels({
  labels,
  desired_labels: change,
}: Pick<DesiredColumns, 'labels' | 'desired_labels'>): Record<string, string> {
  const entries = Object.entries({ ...labels, ...change }).flatMap(([key, value]): [string, string][] =>
    value === null ? [] : [[key, value]],
  );
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The row of that id, if the cluster has it. `lock` keeps it from changing until the transaction ends. */
export async function findJobRow(
  sql: Sql,
  wanted: {
    readonly clusterId: string;
    readonly jobId: string;
    readonly projectId?: string | null;
    readonly lock?: boolean;
  },
): Promise<JobRow | undefined> {
  const found = await sql.query<JobRow>(
    `${SELECT_JOB} WHERE j.id = $1 AND j.cluster_id = $2 AND ($3::uuid IS NULL OR j.project_id = $3)
     ${wanted.lock === true ? 'FOR UPDATE OF j' : ''}`,
    [wanted.jobId, wanted.clusterId, wanted.projectId ?? null],
  );
  return firstOf(found);
}

/** The resource that users see, with the whole history of attempts. */
export async function toJobWithAttempts(sql: Sql, cluster: Cluster, row: JobRow): Promise<Job> {
  const toWholeJob = await wholeJobsOf(sql, cluster, [row]);
  return toWholeJob(row);
}

/** The same of many, with as many statements as of one. */
export async function toJobsWithAttempts(sql: Sql, cluster: Cluster, rows: readonly JobRow[]): Promise<readonly Job[]> {
  return rows.map(await wholeJobsOf(sql, cluster, rows));
}

/** Reads what else belongs to jobs of these rows, and makes each whole. */
async function wholeJobsOf(sql: Sql, cluster: Cluster, rows: readonly JobRow[]): Promise<(row: JobRow) => Job> {
  const uids = rows.flatMap(({ uid }) => (uid === null ? [] : [uid]));
  const attempts = await attemptsOf(sql, cluster, uids);
  const measured = await measuredStepTimesOf(sql, cluster, uids);
  return (row) =>
    toJob(row, { cluster, attempts: attempts.get(row.uid ?? '') ?? [], measured: measured.get(row.uid ?? '') });
}

/**
 * What a list says of rows, in their order. Rows may have been read in short. `details` that are asked for are read as long as they are at
 * most `maxBytes` together, and those of the first row always; the list ends with the last row whose details were read.
 */
export async function toJobSummaries(
  sql: Sql,
  cluster: Cluster,
  rows: readonly JobRow[],
  wanted: { readonly details: readonly JobDetail[]; readonly maxBytes: number },
): Promise<readonly JobSummary[]> {
  const uids = rows.flatMap((row) => (row.uid === null ? [] : [row.uid]));
  const measured = await measuredStepTimesOf(sql, cluster, uids);
  const predicted = await predictedAttemptsOf(sql, cluster, { uids, measured });
  const summaries = rows.map((row) => {
    const attempts = predicted.get(row.uid ?? '') ?? [];
    return toJob(row, { cluster, attempts, measured: measured.get(row.uid ?? '') });
  });
  if (wanted.details.length === 0) return summaries.map((summary) => withoutDetails(summary, []));
  const whole = await wholeRowsOf(sql, { ids: rows.map(({ id }) => id), maxBytes: wanted.maxBytes });
  const attempts = wanted.details.includes('attempts')
    ? await attemptsOf(
        sql,
        cluster,
        whole.flatMap(({ uid }) => (uid === null ? [] : [uid])),
      )
    : new Map<string, Attempt[]>();
  return whole.map((row, index) => {
    const job = toJob(row, { cluster, attempts: attempts.get(row.uid ?? '') ?? [], measured: undefined });
    return { ...withoutDetails(job, wanted.details), stepTime: summaries[index]?.stepTime ?? null };
  });
}

function withoutDetails(job: Job, kept: readonly JobDetail[]): JobSummary {
  const dropped = new Set<string>(JOB_DETAILS.filter((detail) => !kept.includes(detail)));
  return Object.fromEntries(Object.entries(job).filter(([name]) => !dropped.has(name))) as JobSummary;
}

/** The rows in the order of `ids`, up to that many bytes of specs, statuses and attempts as the database writes them. */
async function wholeRowsOf(
  sql: Sql,
  wanted: { readonly ids: readonly string[]; readonly maxBytes: number },
): Promise<readonly JobRow[]> {
  const found = await sql.query<JobRow>(
    `SELECT j.*, p.name AS project_name, j.created_at::text AS created_at_text, j.finished_at::text AS finished_at_text
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

async function attemptsOf(sql: Sql, cluster: Cluster, uids: readonly string[]): Promise<Map<string, Attempt[]>> {
  if (uids.length === 0) return new Map();
  const found = await sql.query<{ job_uid: string; attempt: Attempt }>(
    'SELECT job_uid, attempt FROM attempts WHERE cluster_id = $1 AND job_uid = ANY ($2::text[]) ORDER BY job_uid, epoch',
    [cluster.id, uids],
  );
  return byUid(found.rows);
}

/** Of each job the attempt that was measured, or else the newest that was predicted; of it no more than the prediction. */
async function predictedAttemptsOf(
  sql: Sql,
  cluster: Cluster,
  of: { readonly uids: readonly string[]; readonly measured: ReadonlyMap<string, MeasuredStepTime> },
): Promise<Map<string, Attempt[]>> {
  if (of.uids.length === 0) return new Map();
  const found = await sql.query<{ job_uid: string; attempt: Attempt }>(
    `SELECT DISTINCT ON (a.job_uid) a.job_uid,
            jsonb_build_object('epoch', a.epoch, 'prediction', jsonb_build_object('stepMs', a.attempt -> 'prediction' -> 'stepMs')) AS attempt
       FROM unnest($2::text[], $3::integer[]) AS wanted (job_uid, epoch)
       JOIN attempts a ON a.cluster_id = $1 AND a.job_uid = wanted.job_uid AND (wanted.epoch IS NULL OR a.epoch = wanted.epoch)
      WHERE jsonb_exists(a.attempt, 'prediction')
      ORDER BY a.job_uid, a.epoch DESC`,
    [cluster.id, of.uids, of.uids.map((uid) => of.measured.get(uid)?.epoch ?? null)],
  );
  return byUid(found.rows);
}

function byUid(rows: readonly { readonly job_uid: string; readonly attempt: Attempt }[]): Map<string, Attempt[]> {
  const attempts = new Map<string, Attempt[]>();
  for (const row of rows) {
    const known = attempts.get(row.job_uid);
    if (known === undefined) attempts.set(row.job_uid, [row.attempt]);
    else known.push(row.attempt);
  }
  return attempts;
}

interface MeasuredStepTime {
  readonly job_uid: string;
  readonly epoch: number;
  readonly median_step_ms: number;
  readonly steps: number;
}

/** What was measured of each job's newest attempt that was measured at all. */
async function measuredStepTimesOf(
  sql: Sql,
  cluster: Cluster,
  uids: readonly string[],
): Promise<Map<string, MeasuredStepTime>> {
  if (uids.length === 0) return new Map();
  const found = await sql.query<MeasuredStepTime>(
    `SELECT DISTINCT ON (job_uid) job_uid, epoch, median_step_ms, steps FROM measured_step_times
      WHERE cluster_id = $1 AND job_uid = ANY ($2::text[]) ORDER BY job_uid, epoch DESC`,
    [cluster.id, uids],
  );
  return new Map(found.rows.map((row) => [row.job_uid, row]));
}

/** Of the newest attempt that was measured; of the newest that was predicted before any was. */
function stepTimeOf(attempts: readonly Attempt[], measured: MeasuredStepTime | undefined): StepTime | null {
  const epoch = measured?.epoch ?? attempts.findLast(({ prediction }) => prediction !== undefined)?.epoch;
  if (epoch === undefined) return null;
  const predictedMs = attempts.find((attempt) => attempt.epoch === epoch)?.prediction?.stepMs ?? null;
  const measuredMs = measured?.median_step_ms ?? null;
  return {
    epoch,
    predictedMs,
    measuredMs,
    measuredSteps: measured?.steps ?? 0,
    errorPct: predictedMs === null || measuredMs === null ? null : errorPctOf(predictedMs, measuredMs),
  };
}

interface JobContext {
  readonly cluster: Cluster;
  readonly attempts: readonly Attempt[];
  readonly measured: MeasuredStepTime | undefined;
}

function toJob(row: JobRow, context: JobContext): Job {
  const { status } = row;
  const spec = desiredSpec(row);
  // A plan answers the spec that it was made for; what was asked since is still to be planned.
  const plan = status.plan !== undefined && isPlanOf(status.plan, spec) ? status.plan : undefined;
  const progress = status.progress;
  const layout = effectiveLayout(spec, plan) ?? null;
  return {
    id: row.id,
    project: row.project_name,
    cluster: context.cluster.name,
    namespace: row.namespace,
    name: row.name,
    labels: desiredLabels(row),
    owner: row.owner,
    uid: row.uid,
    spec,
    state: row.state,
    gpus: gpuCount(layout, spec.gpus),
    layout,
    plan: plan ?? null,
    stepTime: stepTimeOf(context.attempts, context.measured),
    summary: row.summary,
    epoch: status.epoch ?? 0,
    restarts: status.restarts ?? { total: 0, charged: 0 },
    totalSteps: progress?.totalSteps ?? spec.training?.steps ?? null,
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
    attempts: [...context.attempts],
    conditions: status.conditions ?? [],
    version: Number(row.version),
    specVersion: Number(row.spec_version),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
  };
}
