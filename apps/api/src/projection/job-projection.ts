import { randomUUID } from 'node:crypto';
import {
  type Condition,
  FINAL_JOB_STATES,
  type JobState,
  LABELS,
  type TrainingJob,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import { newestFailure } from '@coxswain/lifecycle';
import { firstOf, type Sql, storableJson } from '@coxswain/persistence';
import { isWaitingForCapacity, waitingSince } from '@coxswain/scheduling';
import type { Cluster } from '../infrastructure/tokens.ts';
import { DESIRED, type DesiredColumns, type RowState } from '../jobs/job-row.ts';
import { shownLabels } from '../jobs/job-labels.ts';
import { projectIncidents } from './incident-projection.ts';
import { asksTheSame } from '../jobs/same-request.ts';
import { notifyJobChanged } from '../jobs/job-changes.ts';
import {
  type GoneJob,
  insertFoundJob,
  markVanishedJobs,
  releaseName,
  type ResourceColumns,
  type VanishedJob,
  writeResource,
} from '../jobs/job-table.ts';
import { isUuid } from '../http/ids.ts';
import { readableJob } from './readable-objects.ts';
import { newsOfJob } from '../messages/job-news.ts';
import { queueWebhookMessages } from '../messages/queue-webhook-messages.ts';

/** What became of a resource that was written to its row. */
export interface ProjectedJob {
  readonly jobId: string;
  /** False when the row already knew this or a newer version. */
  readonly changed: boolean;
}

interface KnownRow extends DesiredColumns {
  readonly id: string;
  /** As the resource reported it last; null if it reported none. */
  readonly told_state: JobState | null;
  readonly conditions: readonly Condition[] | null;
  readonly deleted_at: Date | null;
  readonly uid: string | null;
}

/**
 * Brings the row of a TrainingJob to what the resource says, never backwards: per UID only a newer resourceVersion is written. The same
 * function serves the projector and the worker, so it does not matter who is first.
 *
 * Which row it is: the one of its UID; else the one whose id its label carries, if that row waits for its resource; else a new one, as for
 * a job made with kubectl.
 *
 * What cannot be read of the status is left out. If the spec cannot be read, the row keeps its own; undefined if there is no row.
 */
export async function projectJob(sql: Sql, cluster: Cluster, resource: TrainingJob): Promise<ProjectedJob | undefined> {
  const known = await rowOf(sql, cluster, resource);
  const job = readableJob(resource, known?.spec);
  if (job === undefined) return undefined;
  const jobId = known?.id ?? (await insertRow(sql, cluster, job));
  if (known !== undefined && known.deleted_at !== null) return { jobId, changed: false };

  const columns = resourceColumnsOf(job, known);
  if (!(await writeResource(sql, jobId, columns))) return { jobId, changed: false };
  await sql.query(
    `INSERT INTO attempts (cluster_id, job_uid, epoch, attempt)
     SELECT $1, $2, (attempt ->> 'epoch')::integer, attempt FROM jsonb_array_elements($3::jsonb) AS attempt
     ON CONFLICT (cluster_id, job_uid, epoch) DO UPDATE SET attempt = excluded.attempt
       WHERE attempts.attempt IS DISTINCT FROM excluded.attempt`,
    [cluster.id, job.metadata.uid, storableJson(job.status?.attempts ?? [])],
  );
  const ofIncidents = await projectIncidents(sql, cluster, { jobId, job });
  const before = { state: known?.told_state ?? 'Queued', conditions: known?.conditions ?? [] };
  const { state = 'Queued', conditions = [], attempts, notBefore }: Partial<TrainingJobStatus> = job.status ?? {};
  const failure = newestFailure({ name: job.metadata.name, state, attempts: listOf(attempts), notBefore });
  const now = { state, conditions, summary: columns.summary, failure };
  await queueWebhookMessages(sql, jobId, [...ofIncidents, ...newsOfJob(before, now)]);
  await notifyJobChanged(sql, jobId);
  return { jobId, changed: true };
}

function listOf<T>(list: readonly T[] | undefined): readonly T[] {
  return Array.isArray(list) ? list : [];
}

/** What the row of a TrainingJob repeats of it; `row`: as it was, unless it is made with it. Attempts and incidents have tables of their own. */
export function resourceColumnsOf(job: TrainingJob, row: DesiredColumns | undefined): ResourceColumns {
  const { attempts: _attempts, incidents: _incidents, ...status }: Partial<TrainingJobStatus> = job.status ?? {};
  const state = stateOf(job, row?.desired_delete === true);
  const labels = shownLabels(job.metadata.labels);
  return {
    uid: job.metadata.uid,
    spec: job.spec,
    status,
    state,
    summary: status.summary ?? summaryWithoutStatus(state),
    resourceVersion: job.metadata.resourceVersion,
    labels,
    changesSpec: row !== undefined && !asksTheSame(row, { ...row, spec: job.spec, labels }),
    isFinished: FINAL_JOB_STATES.has(state),
    finishedAt: finishTimeOf(job),
    waitsSince: isWaitingForCapacity(job) ? timeOf(waitingSince(job)) : null,
    firstExpectedStart: firstExpectedStartOf(status),
  };
}

/** The status has it only while nodes are held; the row keeps it, to compare it with the start that comes. */
function firstExpectedStartOf(status: object): ResourceColumns['firstExpectedStart'] {
  const { expectedStart } = status as { readonly expectedStart?: { firstPromised?: string; promisedAt?: string } };
  const [start, since] = [expectedStart?.firstPromised, expectedStart?.promisedAt].map((at) => timeOf(at ?? ''));
  return start === undefined || since === undefined || start === null || since === null ? null : { start, since };
}

/** Marks the rows of that name whose resource is gone. */
export async function markJobGone(sql: Sql, cluster: Cluster, gone: VanishedJob): Promise<void> {
  for (const job of await markVanishedJobs(sql, cluster, gone)) {
    await notifyJobChanged(sql, job.id);
    await queueDeletionMessages(sql, job);
  }
}

/** Queues the webhook messages of a job that was rejected. */
export async function queueRejectionMessages(sql: Sql, jobId: string, summary: string): Promise<void> {
  await queueWebhookMessages(sql, jobId, [{ type: 'job.ended', state: 'Refused', summary, failure: null }]);
}

/** Queues the webhook messages of a deleted job, unless it had ended before. */
export async function queueDeletionMessages(sql: Sql, { id, endsNow, summary }: GoneJob): Promise<void> {
  if (endsNow) await queueWebhookMessages(sql, id, [{ type: 'job.ended', state: 'Deleted', summary, failure: null }]);
}

/** One statement: between two, another worker could give the waiting row its UID, and neither would find it. */
async function rowOf(sql: Sql, cluster: Cluster, job: TrainingJob): Promise<KnownRow | undefined> {
  const { uid, namespace, name, labels } = job.metadata;
  const label = labels?.[LABELS.jobId];
  const found = await sql.query<KnownRow>(
    `SELECT id, uid, deleted_at, status ->> 'state' AS told_state, status -> 'conditions' AS conditions, ${DESIRED} FROM jobs
      WHERE cluster_id = $1 AND (uid = $2 OR (id = $3::uuid AND uid IS NULL AND namespace = $4 AND name = $5))
      ORDER BY uid NULLS LAST LIMIT 1 FOR UPDATE`,
    [cluster.id, uid, label !== undefined && isUuid(label) ? label : null, namespace, name],
  );
  return firstOf(found);
}

/** A job that the API did not create. A request that waits for the name has lost it; the earlier job of that name is gone. */
async function insertRow(sql: Sql, cluster: Cluster, job: TrainingJob): Promise<string> {
  const { namespace = '', name, uid, creationTimestamp } = job.metadata;
  const sentence = nameTakenSentence(name);
  const { gone, refusedIds } = await releaseName(sql, cluster, { namespace, name, byUid: uid, sentence });
  for (const other of gone) await queueDeletionMessages(sql, other);
  for (const other of refusedIds) await queueRejectionMessages(sql, other, sentence);
  const id = randomUUID();
  await insertFoundJob(sql, cluster, {
    id,
    uid,
    namespace,
    name,
    spec: job.spec,
    createdAt: creationTimestamp ?? null,
  });
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

/** A time that PostgreSQL reads; null for another text. */
function timeOf(text: string): string | null {
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : new Date(atMs).toISOString();
}

function finishTimeOf(job: TrainingJob): string | null {
  const ended = job.status?.conditions?.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  );
  return ended?.lastTransitionTime ?? null;
}
