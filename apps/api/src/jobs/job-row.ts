import type { Job, ResumeFrom, TrainingJobSpec, TrainingJobStatus } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { firstOf, type Sql } from '@coxswain/persistence';

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
  /** Why the last change has not reached the cluster; null: nothing failed since the last one that did. */
  readonly apply_error: string | null;
  readonly apply_failing_since: Date | null;
  /** Null: it is not tried again. */
  readonly apply_retry_at: Date | null;
  /** To the microsecond, for cursors. */
  readonly created_at_text: string;
  readonly finished_at_text: string | null;
}

/** The columns of a {@link JobRow} in `JOBS`, but spec, status and summary. Each is named: what a statement gives stays the same when a migration adds one. */
const SMALL_COLUMNS = `
  j.id, j.cluster_id, j.uid, j.project_id, p.name AS project_name, j.namespace, j.name, j.submitted_by, j.owner, j.generation, j.applied_generation, j.state,
  j.desired_suspend, j.desired_cancel, j.desired_layout, j.desired_gpus, j.desired_resume_from, j.desired_delete, j.labels, j.desired_labels,
  j.resource_version, j.version, j.spec_version, j.created_at, j.updated_at, j.finished_at, j.deleted_at,
  j.apply_error, j.apply_failing_since, j.apply_retry_at,
  j.created_at::text AS created_at_text, j.finished_at::text AS finished_at_text`;

/** All of its columns. */
export const COLUMNS = `${SMALL_COLUMNS}, j.spec, j.status, j.summary`;

/** The same as far as a summary shows it: `spec` and `status` are reduced to what it is made of, so that a page of rows takes little memory, however large the specs are. */
export const COLUMNS_IN_SHORT = `${SMALL_COLUMNS}, left(j.summary, 1024) AS summary,
         jsonb_strip_nulls(jsonb_build_object(
           'layout', j.spec -> 'layout', 'gpus', j.spec -> 'gpus', 'runtimeRef', j.spec -> 'runtimeRef',
           'suspend', j.spec -> 'suspend', 'cancel', j.spec -> 'cancel', 'checkpoint', j.spec -> 'checkpoint', 'resumeFrom', j.spec -> 'resumeFrom',
           'model', jsonb_build_object('sequenceLength', j.spec -> 'model' -> 'sequenceLength'),
           'training', jsonb_build_object(
             'steps', j.spec -> 'training' -> 'steps', 'tokens', j.spec -> 'training' -> 'tokens',
             'globalBatchSize', j.spec -> 'training' -> 'globalBatchSize'))) AS spec,
         jsonb_strip_nulls(jsonb_build_object(
           'epoch', j.status -> 'epoch', 'restarts', j.status -> 'restarts', 'progress', j.status -> 'progress',
           'checkpoint', j.status -> 'checkpoint', 'resumeFrom', j.status -> 'resumeFrom',
           'plan', jsonb_build_object(
             'chosenBy', j.status -> 'plan' -> 'chosenBy', 'gpus', j.status -> 'plan' -> 'gpus', 'runtime', j.status -> 'plan' -> 'runtime', 'layout', j.status -> 'plan' -> 'layout'))) AS status`;

/** Where they are. */
export const JOBS = 'jobs j LEFT JOIN projects p ON p.id = j.project_id';

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
    `SELECT ${COLUMNS} FROM ${JOBS} WHERE j.id = $1 AND j.cluster_id = $2 AND ($3::uuid IS NULL OR j.project_id = $3)
     ${wanted.lock === true ? 'FOR UPDATE OF j' : ''}`,
    [wanted.jobId, wanted.clusterId, wanted.projectId ?? null],
  );
  return firstOf(found);
}
