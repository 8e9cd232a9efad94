import {
  type Attempt,
  effectiveLayout,
  isPlanOf,
  type Job,
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

/** A row of `jobs` as the driver gives it: bigint and numeric are text. */
export interface JobRow {
  readonly id: string;
  readonly cluster_id: string;
  readonly uid: string | null;
  readonly project_id: string | null;
  readonly project_name: string | null;
  readonly namespace: string;
  readonly name: string;
  readonly spec: TrainingJobSpec;
  readonly desired_suspend: boolean | null;
  readonly desired_cancel: boolean;
  readonly desired_layout: ParallelLayout | null;
  readonly desired_gpus: number | null;
  readonly desired_resume_from: ResumeFrom | null;
  readonly desired_delete: boolean;
  readonly generation: string;
  readonly applied_generation: string;
  readonly state: RowState;
  readonly summary: string;
  readonly status: Partial<Omit<TrainingJobStatus, 'attempts'>>;
  readonly resource_version: string | null;
  readonly version: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly finished_at: Date | null;
  readonly deleted_at: Date | null;
  /** `created_at` to the microsecond, for cursors. */
  readonly created_at_text: string;
}

/** Everything of a job's row and the name of its project; a condition on `j` follows. */
export const SELECT_JOB = `
  SELECT j.*, p.name AS project_name, j.created_at::text AS created_at_text
    FROM jobs j LEFT JOIN projects p ON p.id = j.project_id`;

/** The spec as it will be once everything that was asked has been applied: cancel stays, layout and suspend as asked last. */
export function desiredSpec(row: JobRow): TrainingJobSpec {
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

/** The resources that users see, with the whole history of attempts, in the order of the rows. */
export async function toJobs(sql: Sql, cluster: Cluster, rows: readonly JobRow[]): Promise<readonly Job[]> {
  const uids = rows.flatMap((row) => (row.uid === null ? [] : [row.uid]));
  const [attemptsByUid, measuredByUid] =
    uids.length === 0
      ? [new Map<string, Attempt[]>(), new Map<string, MeasuredStepTime>()]
      : await Promise.all([attemptsOf(sql, cluster, uids), measuredStepTimesOf(sql, cluster, uids)]);
  return rows.map((row) =>
    toJob(row, {
      cluster,
      attempts: attemptsByUid.get(row.uid ?? '') ?? [],
      measured: measuredByUid.get(row.uid ?? ''),
    }),
  );
}

/** One of them. */
export async function toJobWithAttempts(sql: Sql, cluster: Cluster, row: JobRow): Promise<Job> {
  const [job] = await toJobs(sql, cluster, [row]);
  if (job === undefined) throw new Error('a row gave no job');
  return job;
}

async function attemptsOf(sql: Sql, cluster: Cluster, uids: readonly string[]): Promise<Map<string, Attempt[]>> {
  const found = await sql.query<{ job_uid: string; attempt: Attempt }>(
    'SELECT job_uid, attempt FROM attempts WHERE cluster_id = $1 AND job_uid = ANY ($2::text[]) ORDER BY job_uid, epoch',
    [cluster.id, uids],
  );
  const byUid = new Map<string, Attempt[]>();
  for (const row of found.rows) {
    const known = byUid.get(row.job_uid);
    if (known === undefined) byUid.set(row.job_uid, [row.attempt]);
    else known.push(row.attempt);
  }
  return byUid;
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
  return {
    id: row.id,
    project: row.project_name,
    cluster: context.cluster.name,
    namespace: row.namespace,
    name: row.name,
    uid: row.uid,
    spec,
    state: row.state,
    layout: effectiveLayout(spec, plan) ?? null,
    plan: plan ?? null,
    stepTime: stepTimeOf(context.attempts, context.measured),
    summary: row.summary,
    epoch: status.epoch ?? 0,
    restarts: status.restarts ?? { total: 0, charged: 0 },
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
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
  };
}
