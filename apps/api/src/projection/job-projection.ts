import { randomUUID } from 'node:crypto';
import { FINAL_JOB_STATES, LABELS, type TrainingJob, type TrainingJobStatus } from '@coxswain/api-types';
import { firstOf, type Sql, storableJson, storableText } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import type { RowState } from '../jobs/job-row.ts';
import { notifyJobChanged } from '../jobs/job-changes.ts';
import { isUuid } from '../http/ids.ts';

/** What became of a resource that was written to its row. */
export interface ProjectedJob {
  readonly jobId: string;
  /** False when the row already knew this or a newer version. */
  readonly changed: boolean;
}

interface KnownRow {
  readonly id: string;
  readonly deleted_at: Date | null;
  readonly desired_delete: boolean;
  readonly uid: string | null;
}

/**
 * Brings the row of a TrainingJob to what the resource says, never backwards: per UID only a newer resourceVersion is written. The same
 * function serves the projector and the worker, so it does not matter who is first.
 *
 * Which row it is: the one of its UID; else the one whose id its label carries, if that row waits for its resource; else a new one, as for
 * a job made with kubectl.
 */
export async function projectJob(sql: Sql, cluster: Cluster, job: TrainingJob): Promise<ProjectedJob> {
  const known = (await rowOfUid(sql, cluster, job)) ?? (await rowThatWaitsFor(sql, cluster, job));
  const jobId = known?.id ?? (await insertRow(sql, cluster, job));
  if (known !== undefined && known.deleted_at !== null) return { jobId, changed: false };

  const state = stateOf(job, known?.desired_delete === true);
  const { attempts = [], ...status }: Partial<TrainingJobStatus> = job.status ?? {};
  const written = await sql.query(
    `UPDATE jobs
        SET uid = $2, spec = $3, status = $4, state = $5, summary = $6, resource_version = $7::numeric,
            finished_at = CASE WHEN $8 THEN coalesce(finished_at, $9::timestamptz, now()) ELSE NULL END,
            version = version + 1, updated_at = now()
      WHERE id = $1 AND (resource_version IS NULL OR uid IS NULL OR resource_version < $7::numeric)`,
    [
      jobId,
      job.metadata.uid,
      storableJson(job.spec),
      storableJson(status),
      state,
      storableText(status.summary ?? summaryWithoutStatus(state)),
      job.metadata.resourceVersion,
      FINAL_JOB_STATES.has(state),
      finishTimeOf(job),
    ],
  );
  if (written.affected === 0) return { jobId, changed: false };
  await sql.query(
    `INSERT INTO attempts (cluster_id, job_uid, epoch, attempt)
     SELECT $1, $2, (attempt ->> 'epoch')::integer, attempt FROM jsonb_array_elements($3::jsonb) AS attempt
     ON CONFLICT (cluster_id, job_uid, epoch) DO UPDATE SET attempt = excluded.attempt
       WHERE attempts.attempt IS DISTINCT FROM excluded.attempt`,
    [cluster.id, job.metadata.uid, storableJson(attempts)],
  );
  await notifyJobChanged(sql, jobId);
  return { jobId, changed: true };
}

/** Where to look for rows whose resource is gone. */
export interface VanishedJob {
  readonly namespace: string;
  readonly name: string;
  /** UID of the object that has the name now, if any. */
  readonly presentUid?: string | undefined;
  /** Rows that know a newer version than the one up to which everything was seen are left alone. */
  readonly seenUpTo: string;
}

/** Marks the rows of that name whose resource is gone. */
export async function markJobGone(sql: Sql, cluster: Cluster, gone: VanishedJob): Promise<void> {
  const marked = await sql.query<{ id: string }>(
    `UPDATE jobs
        SET deleted_at = now(), state = 'Deleted', summary = 'The job was deleted.', applied_intent = intent,
            finished_at = coalesce(finished_at, now()), version = version + 1, updated_at = now()
      WHERE cluster_id = $1 AND namespace = $2 AND name = $3 AND uid IS NOT NULL AND deleted_at IS NULL
        AND ($4::text IS NULL OR uid <> $4) AND resource_version <= $5::numeric
      RETURNING id`,
    [cluster.id, gone.namespace, gone.name, gone.presentUid ?? null, gone.seenUpTo],
  );
  for (const row of marked.rows) await notifyJobChanged(sql, row.id);
}

async function rowOfUid(sql: Sql, cluster: Cluster, job: TrainingJob): Promise<KnownRow | undefined> {
  const found = await sql.query<KnownRow>(
    'SELECT id, uid, deleted_at, desired_delete FROM jobs WHERE cluster_id = $1 AND uid = $2 FOR UPDATE',
    [cluster.id, job.metadata.uid],
  );
  return firstOf(found);
}

async function rowThatWaitsFor(sql: Sql, cluster: Cluster, job: TrainingJob): Promise<KnownRow | undefined> {
  const label = job.metadata.labels?.[LABELS.jobId];
  if (label === undefined || !isUuid(label)) return undefined;
  const found = await sql.query<KnownRow>(
    `SELECT id, uid, deleted_at, desired_delete FROM jobs
      WHERE id = $1 AND cluster_id = $2 AND uid IS NULL AND namespace = $3 AND name = $4 FOR UPDATE`,
    [label, cluster.id, job.metadata.namespace, job.metadata.name],
  );
  return firstOf(found);
}

/** A job that we did not make. Whoever waits for the name has lost it; whoever had it is gone. */
async function insertRow(sql: Sql, cluster: Cluster, job: TrainingJob): Promise<string> {
  const { namespace = '', name, uid, creationTimestamp } = job.metadata;
  await sql.query(
    `UPDATE jobs SET deleted_at = now(), state = 'Deleted', summary = 'The job was deleted.', applied_intent = intent,
                     finished_at = coalesce(finished_at, now()), version = version + 1, updated_at = now()
      WHERE cluster_id = $1 AND namespace = $2 AND name = $3 AND uid <> $4 AND deleted_at IS NULL`,
    [cluster.id, namespace, name, uid],
  );
  await sql.query(
    `UPDATE jobs SET state = 'Refused', summary = $4, applied_intent = intent, finished_at = now(), version = version + 1, updated_at = now()
      WHERE cluster_id = $1 AND namespace = $2 AND name = $3 AND uid IS NULL AND deleted_at IS NULL AND state <> 'Refused'`,
    [cluster.id, namespace, name, nameTakenSentence(name)],
  );
  const id = randomUUID();
  await sql.query(
    `INSERT INTO jobs (id, cluster_id, uid, project_id, namespace, name, spec, state, created_at)
     SELECT $1, $2, $3, (SELECT project_id FROM project_namespaces WHERE cluster_id = $2 AND namespace = $4), $4, $5, $6, 'Queued',
            coalesce($7::timestamptz, now())`,
    [id, cluster.id, uid, namespace, name, storableJson(job.spec), creationTimestamp ?? null],
  );
  return id;
}

/** Why a name could not be had. */
export function nameTakenSentence(name: string): string {
  return `The name "${name}" is taken in the cluster by a job that was not made by this request; choose another name.`;
}

function summaryWithoutStatus(state: RowState): string {
  return state === 'Deleting' ? 'The job is being deleted.' : 'The operator has not looked at it yet.';
}

function stateOf(job: TrainingJob, deleteAsked: boolean): RowState {
  if (deleteAsked || job.metadata.deletionTimestamp !== undefined) return 'Deleting';
  return job.status?.state ?? 'Queued';
}

function finishTimeOf(job: TrainingJob): string | null {
  const ended = job.status?.conditions?.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  );
  return ended?.lastTransitionTime ?? null;
}
