import type { ResumeFrom, TrainingJobSpec } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { firstOf, type Sql, storableJson, storableText } from '@coxswain/persistence';
import { IS_GONE } from '../infrastructure/gone-jobs.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { DESIRED, type DesiredColumns, type JobRow, type RowState } from './job-row.ts';
import { asksTheSame, withoutChanges } from './same-request.ts';

/*
 * Every write of the table `jobs`. A test refuses a statement that writes it anywhere else.
 *
 * A row has three writers, and each owns its columns:
 * - requests (JobsService) write what is asked for: `desired_*`, and `generation`, which counts the changes that were asked for here;
 * - the cluster writer brings the resource in line and records how far it got: `applied_generation`;
 * - the projection repeats the resource: `uid`, `spec`, `status`, `state`, `summary`, `waits_since`, `first_expected_start`, `resource_version`.
 *
 * A writer that changes the spec or the labels, wherever the change was requested, increments `spec_version`.
 *
 * Every writer wakes waiting readers (`job-changes.ts`) in the same transaction.
 */

/** A job that was asked for over the API. */
export interface RequestedJob {
  readonly id: string;
  readonly projectId: string;
  readonly namespace: string;
  readonly name: string;
  readonly spec: TrainingJobSpec;
  readonly labels: Readonly<Record<string, string>>;
  /** The principal, and what it is called. */
  readonly submittedBy: { readonly id: string; readonly name: string };
}

/** What one request changes of a job. What it leaves out stays as it is. */
export interface DesiredChange {
  readonly suspend?: boolean;
  /** Excludes `gpus`: whichever is asked for takes the place of the other. */
  readonly layout?: ParallelLayout | undefined;
  readonly gpus?: number | undefined;
  readonly resumeFrom?: ResumeFrom | undefined;
  /** Null removes. */
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly cancel?: true;
  readonly delete?: true;
}

/** Where a resource is, whichever project it belongs to. */
export interface NamedPlace {
  readonly namespace: string;
  readonly name: string;
}

/** What a row repeats of its resource. */
export interface ResourceColumns {
  readonly uid: string;
  readonly spec: TrainingJobSpec;
  readonly status: Readonly<Record<string, unknown>>;
  readonly state: RowState;
  readonly summary: string;
  readonly resourceVersion: string | undefined;
  /** Without ours. */
  readonly labels: Readonly<Record<string, string>>;
  /** What the row asks for is another spec, or other labels, than before. */
  readonly changesSpec: boolean;
  readonly isFinished: boolean;
  /** Null: the time of the write, unless the row has one. */
  readonly finishedAt: string | null;
  /** Since when the job waits for GPUs; null: it does not. */
  readonly waitsSince: string | null;
  /** The start that was expected first, and since when; null: none is. */
  readonly firstExpectedStart: { readonly start: string; readonly since: string } | null;
}

/** A resource that the API did not make, as it is recorded before anything is known of its status. */
export interface FoundJob extends NamedPlace {
  readonly id: string;
  readonly uid: string;
  readonly spec: TrainingJobSpec;
  /** Null: the time of the write. */
  readonly createdAt: string | null;
}

/** A name whose resource is gone, or is another one now. */
export interface VanishedJob extends NamedPlace {
  /** UID of the object that has the name now, if any. */
  readonly presentUid?: string | undefined;
  /** Rows that know a newer resourceVersion than the one up to which everything was seen are left alone. */
  readonly seenUpTo: string;
}

/** A job that was there and is not. */
export interface GoneJob {
  readonly id: string;
  /** False: it had ended before. */
  readonly endsNow: boolean;
  readonly summary: string;
}

interface GoneRow {
  readonly id: string;
  readonly summary: string;
  readonly ends_now: boolean;
}

function toGoneJob({ id, summary, ends_now: endsNow }: GoneRow): GoneJob {
  return { id, summary, endsNow };
}

const TOUCHED = 'version = version + 1, updated_at = now()';
const APPLIED = 'apply_error = NULL, apply_failing_since = NULL, apply_retry_at = NULL';
const DELETED = `deleted_at = now(), state = 'Deleted', summary = 'The job was deleted.', applied_generation = generation, ${APPLIED},
  finished_at = coalesce(finished_at, now()), ${TOUCHED}`;
/** Of a row that was marked {@link DELETED}: its end is that of the transaction, unless it had one. A job that is being deleted has none in its row. */
const GONE = `id, summary, finished_at = now() AND coalesce(status ->> 'state', '') NOT IN ('Complete', 'Failed', 'Cancelled') AS ends_now`;
const REFUSED = `state = 'Refused', applied_generation = generation, finished_at = now(), apply_failing_since = now(), apply_retry_at = NULL, ${TOUCHED}`;

/**
 * For requests: records a new job, which waits for its resource. The unique index `jobs_live_name` refuses a name that a live row of the
 * namespace has.
 */
export async function insertRequestedJob(sql: Sql, cluster: Cluster, job: RequestedJob): Promise<void> {
  await sql.query(
    `INSERT INTO jobs (id, cluster_id, project_id, namespace, name, spec, labels, submitted_by, owner, state, summary, generation)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'Submitting', 'Recorded; on its way to the cluster.', 1)`,
    [
      job.id,
      cluster.id,
      job.projectId,
      job.namespace,
      job.name,
      JSON.stringify(job.spec),
      JSON.stringify(job.labels),
      job.submittedBy.id,
      job.submittedBy.name,
    ],
  );
}

/**
 * For requests: records a change that was asked for. Compare-and-set on `version`: false when the row has changed since it was read.
 * Cancel and delete are never taken back. A refused job, which holds no name, stays refused until it is deleted: another one may bear its name by now.
 */
export async function recordDesiredChange(sql: Sql, row: JobRow, change: DesiredChange): Promise<boolean> {
  const written = await sql.query(
    `UPDATE jobs
        SET desired_suspend = coalesce($3, desired_suspend),
            desired_layout = CASE WHEN $7::integer IS NULL THEN coalesce($4::jsonb, desired_layout) END,
            desired_gpus = CASE WHEN $4::jsonb IS NULL THEN coalesce($7::integer, desired_gpus) END,
            desired_resume_from = coalesce($8::jsonb, desired_resume_from),
            desired_labels = CASE WHEN $9::jsonb IS NULL THEN desired_labels ELSE coalesce(desired_labels, '{}') || $9::jsonb END,
            desired_cancel = desired_cancel OR $5, desired_delete = desired_delete OR $6,
            state = CASE WHEN $6 AND state <> 'Refused' THEN 'Deleting' ELSE state END,
            generation = generation + 1, spec_version = spec_version + 1, ${TOUCHED}
      WHERE id = $1 AND version = $2`,
    [
      row.id,
      row.version,
      change.suspend ?? null,
      change.layout === undefined ? null : JSON.stringify(change.layout),
      change.cancel === true,
      change.delete === true,
      change.gpus ?? null,
      change.resumeFrom === undefined ? null : JSON.stringify(change.resumeFrom),
      change.labels === undefined ? null : JSON.stringify(change.labels),
    ],
  );
  return written.affected === 1;
}

/** For requests: jobs that are in the namespaces of a new project become its own, unless they belong to another already. */
export async function adoptJobs(
  sql: Sql,
  cluster: Cluster,
  project: { readonly id: string; readonly namespaces: readonly string[] },
): Promise<void> {
  await sql.query(
    `UPDATE jobs SET project_id = $1, version = version + 1
      WHERE cluster_id = $2 AND namespace = ANY ($3::text[]) AND project_id IS NULL`,
    [project.id, cluster.id, project.namespaces],
  );
}

/**
 * For the cluster writer: what was asked up to the row that was read is done. Compares `generation`: when another change came since, it stays
 * asked for, and so does everything that it may build on. What the cluster did not take over is not asked for any more.
 */
export async function markApplied(sql: Sql, row: JobRow): Promise<void> {
  const found = await sql.query<DesiredColumns>(`SELECT ${DESIRED} FROM jobs WHERE id = $1 FOR UPDATE`, [row.id]);
  const present = firstOf(found);
  const changesSpec = present !== undefined && !asksTheSame(present, withoutChanges(present));
  await sql.query(
    `UPDATE jobs
        SET applied_generation = greatest(applied_generation, $2),
            desired_suspend = CASE WHEN generation = $2 THEN NULL ELSE desired_suspend END,
            desired_layout = CASE WHEN generation = $2 THEN NULL ELSE desired_layout END,
            desired_gpus = CASE WHEN generation = $2 THEN NULL ELSE desired_gpus END,
            desired_resume_from = CASE WHEN generation = $2 THEN NULL ELSE desired_resume_from END,
            desired_cancel = CASE WHEN generation = $2 THEN false ELSE desired_cancel END,
            desired_labels = CASE WHEN generation = $2 THEN NULL ELSE desired_labels END,
            spec_version = spec_version + CASE WHEN generation = $2 AND $3 THEN 1 ELSE 0 END,
            ${APPLIED}, ${TOUCHED}
      WHERE id = $1`,
    [row.id, row.generation, changesSpec],
  );
}

/**
 * For the cluster writer: the API server has taken the delete. The row becomes Deleted when the object is gone, since finalizers may take
 * their time; `applied_generation` never goes back.
 */
export async function markDeleteSent(sql: Sql, row: JobRow): Promise<void> {
  await sql.query(`UPDATE jobs SET applied_generation = greatest(applied_generation, $2), ${APPLIED} WHERE id = $1`, [
    row.id,
    row.generation,
  ]);
}

/**
 * For the apply queue: what was asked could not be brought to the cluster, and is tried again at `retryAt`. False for a row that has nothing pending, whose
 * change another worker has applied meanwhile.
 */
export async function markApplyFailed(
  sql: Sql,
  jobId: string,
  failure: { readonly sentence: string; readonly retryAt: Date },
): Promise<boolean> {
  const marked = await sql.query(
    `UPDATE jobs
        SET apply_error = $2, apply_retry_at = $3, apply_failing_since = coalesce(apply_failing_since, now()), ${TOUCHED}
      WHERE id = $1 AND generation > applied_generation AND deleted_at IS NULL`,
    [jobId, storableText(failure.sentence), failure.retryAt],
  );
  return marked.affected === 1;
}

/** For the cluster writer: the cluster refused the last change, which is not tried again. The job says so until its next change. */
export async function markChangeRefused(sql: Sql, row: JobRow, sentence: string): Promise<void> {
  await sql.query(
    'UPDATE jobs SET apply_error = $2, apply_failing_since = now(), apply_retry_at = NULL WHERE id = $1',
    [row.id, storableText(sentence)],
  );
}

/** For the cluster writer: the job cannot be made. False for a row that has a resource, is deleted or refused already. */
export async function refuseJob(sql: Sql, row: JobRow, sentence: string): Promise<boolean> {
  const refused = await sql.query(
    `UPDATE jobs SET summary = $2, apply_error = $2, ${REFUSED} WHERE id = $1 AND uid IS NULL AND deleted_at IS NULL AND state <> 'Refused'`,
    [row.id, sentence],
  );
  return refused.affected === 1;
}

/** For the cluster writer: the job's resource is gone, or was never made; gives the job unless it was marked before. A row that is deleted keeps its time. */
export async function markJobDeleted(sql: Sql, row: JobRow): Promise<readonly GoneJob[]> {
  const marked = await sql.query<GoneRow>(
    `UPDATE jobs SET ${DELETED} WHERE id = $1 AND deleted_at IS NULL RETURNING ${GONE}`,
    [row.id],
  );
  return marked.rows.map(toGoneJob);
}

/**
 * For the projection: repeats the resource. Compares `resource_version`: only a newer one is written, so a row never goes back. False when
 * the row knew this one or a newer one. A release without `waits_since` does not write it, so the same version is written again if that column differs.
 */
export async function writeResource(sql: Sql, jobId: string, resource: ResourceColumns): Promise<boolean> {
  const written = await sql.query(
    `UPDATE jobs
        SET uid = $2, spec = $3, status = $4, state = $5, summary = $6, resource_version = $7::numeric,
            finished_at = CASE WHEN $8 THEN coalesce(finished_at, $9::timestamptz, now()) ELSE NULL END,
            labels = $11, spec_version = spec_version + CASE WHEN $10 THEN 1 ELSE 0 END, waits_since = $12::timestamptz,
            first_expected_start = coalesce($13::jsonb, first_expected_start), ${TOUCHED}
      WHERE id = $1 AND (resource_version IS NULL OR uid IS NULL OR resource_version < $7::numeric
                         OR (resource_version = $7::numeric AND waits_since IS DISTINCT FROM $12::timestamptz))`,
    [
      jobId,
      resource.uid,
      storableJson(resource.spec),
      storableJson(resource.status),
      resource.state,
      storableText(resource.summary),
      resource.resourceVersion,
      resource.isFinished,
      resource.finishedAt,
      resource.changesSpec,
      JSON.stringify(resource.labels),
      resource.waitsSince,
      resource.firstExpectedStart === null ? null : JSON.stringify(resource.firstExpectedStart),
    ],
  );
  return written.affected === 1;
}

/**
 * For the projection: records a resource that the API did not make; it belongs to the project that owns its namespace, if one does. The
 * name must be free (`releaseName`).
 */
export async function insertFoundJob(sql: Sql, cluster: Cluster, job: FoundJob): Promise<void> {
  await sql.query(
    `INSERT INTO jobs (id, cluster_id, uid, project_id, namespace, name, spec, state, created_at)
     SELECT $1, $2, $3, (SELECT project_id FROM project_namespaces WHERE cluster_id = $2 AND namespace = $4), $4, $5, $6, 'Queued',
            coalesce($7::timestamptz, now())`,
    [job.id, cluster.id, job.uid, job.namespace, job.name, storableJson(job.spec), job.createdAt],
  );
}

/**
 * For the projection: a resource that no row waits for has the name now. The row whose resource had it before is deleted, and one that
 * waits for it has lost it: `sentence` says so.
 */
export async function releaseName(
  sql: Sql,
  cluster: Cluster,
  taken: NamedPlace & { readonly byUid: string; readonly sentence: string },
): Promise<{ readonly gone: readonly GoneJob[]; readonly refusedIds: readonly string[] }> {
  const place = [cluster.id, taken.namespace, taken.name];
  const gone = await sql.query<GoneRow>(
    `UPDATE jobs SET ${DELETED}
      WHERE cluster_id = $1 AND namespace = $2 AND name = $3 AND uid <> $4 AND deleted_at IS NULL RETURNING ${GONE}`,
    [...place, taken.byUid],
  );
  const refused = await sql.query<{ id: string }>(
    `UPDATE jobs SET summary = $4, apply_error = $4, ${REFUSED}
      WHERE cluster_id = $1 AND namespace = $2 AND name = $3 AND uid IS NULL AND deleted_at IS NULL AND state <> 'Refused'
      RETURNING id`,
    [...place, taken.sentence],
  );
  return { gone: gone.rows.map(toGoneJob), refusedIds: refused.rows.map(({ id }) => id) };
}

/**
 * For the projection: marks the rows of that name whose resource is gone, and gives them. Compares UID and `resource_version`: the
 * object that is there, and rows that know more than was seen, are left alone.
 */
export async function markVanishedJobs(sql: Sql, cluster: Cluster, gone: VanishedJob): Promise<readonly GoneJob[]> {
  const marked = await sql.query<GoneRow>(
    `UPDATE jobs SET ${DELETED}
      WHERE cluster_id = $1 AND namespace = $2 AND name = $3 AND uid IS NOT NULL AND deleted_at IS NULL
        AND ($4::text IS NULL OR uid <> $4) AND resource_version <= $5::numeric
      RETURNING ${GONE}`,
    [cluster.id, gone.namespace, gone.name, gone.presentUid ?? null, gone.seenUpTo],
  );
  return marked.rows.map(toGoneJob);
}

/**
 * For retention: removes rows of deleted jobs, with the rows that refer to them, and returns the removed ids. Each is checked again under a lock: a
 * row stays if its resource exists after all or the outbox refers to it. Rows that another transaction has locked are left for the next pass.
 */
export async function removeJobRecords(sql: Sql, cluster: Cluster, ids: readonly string[]): Promise<readonly string[]> {
  const locked = await sql.query<{ id: string }>(
    'SELECT id FROM jobs WHERE cluster_id = $1 AND id = ANY ($2::uuid[]) FOR UPDATE SKIP LOCKED',
    [cluster.id, ids],
  );
  const removed = await sql.query<{ id: string }>(
    `WITH gone AS (
       SELECT cluster_id, id, uid FROM jobs
        WHERE cluster_id = $1 AND id = ANY ($2::uuid[]) AND ${IS_GONE} AND NOT EXISTS (SELECT 1 FROM outbox WHERE job_id = jobs.id)
     ), events AS (DELETE FROM job_events o USING gone WHERE o.job_id = gone.id
     ), troubles AS (DELETE FROM incidents o USING gone WHERE o.job_id = gone.id
     ), labels AS (DELETE FROM job_labels o USING gone WHERE o.cluster_id = gone.cluster_id AND o.job_id = gone.id
     ), words AS (DELETE FROM job_name_words o USING gone WHERE o.cluster_id = gone.cluster_id AND o.job_id = gone.id
     ), series AS (DELETE FROM job_series o USING gone WHERE o.cluster_id = gone.cluster_id AND o.job_uid = gone.uid
     )
     DELETE FROM jobs USING gone WHERE jobs.id = gone.id RETURNING jobs.id`,
    [cluster.id, locked.rows.map(({ id }) => id)],
  );
  return removed.rows.map(({ id }) => id);
}
