import { LABELS, type TrainingJob } from '@coxswain/api-types';
import type { JobRow } from '../../jobs/job-row.ts';
import type { DesiredChange } from '../../jobs/job-table.ts';
import { withoutChanges } from '../../jobs/same-request.ts';
import { aJobRow } from '../../jobs/testing/a-job-row.ts';
import { resourceColumnsOf } from '../../projection/job-projection.ts';
import type { JobRowStore } from '../job-row-store.ts';

const APPLIED = { apply_error: null, apply_failing_since: null, apply_retry_at: null };

function refusal(sentence: string): Partial<JobRow> {
  return { apply_error: sentence, apply_failing_since: new Date(), apply_retry_at: null };
}

/** The rows of one cluster in memory. The suite of the cluster writer runs over it and over the database alike. */
export class InMemoryJobRowStore implements JobRowStore {
  readonly #rows = new Map<string, JobRow>();
  readonly #events = new Map<string, readonly string[]>();

  /** Records a job that was asked for. */
  insert(row: Partial<JobRow>): string {
    const inserted = aJobRow({ id: crypto.randomUUID(), ...row });
    this.#rows.set(inserted.id, inserted);
    return inserted.id;
  }

  /** Records a change that was asked for. */
  change(jobId: string, change: DesiredChange): void {
    const row = this.#require(jobId);
    this.#rows.set(jobId, {
      ...row,
      desired_suspend: change.suspend ?? row.desired_suspend,
      desired_layout: change.gpus === undefined ? (change.layout ?? row.desired_layout) : null,
      desired_gpus: change.layout === undefined ? (change.gpus ?? row.desired_gpus) : null,
      desired_resume_from: change.resumeFrom ?? row.desired_resume_from,
      desired_labels: change.labels === undefined ? row.desired_labels : { ...row.desired_labels, ...change.labels },
      desired_cancel: row.desired_cancel || change.cancel === true,
      desired_delete: row.desired_delete || change.delete === true,
      state: change.delete === true && row.state !== 'Refused' ? 'Deleting' : row.state,
      generation: String(Number(row.generation) + 1),
    });
  }

  eventsOf(jobId: string): readonly string[] {
    return this.#events.get(jobId) ?? [];
  }

  find(jobId: string): Promise<JobRow | undefined> {
    return Promise.resolve(this.#rows.get(jobId));
  }

  adopt(job: TrainingJob): Promise<void> {
    this.#project(job);
    return Promise.resolve();
  }

  recordApplied(row: JobRow, job: TrainingJob): Promise<void> {
    this.#project(job);
    this.#markApplied(row);
    return Promise.resolve();
  }

  refuse(row: JobRow, sentence: string): Promise<void> {
    const { uid, deleted_at, state, generation } = this.#require(row.id);
    if (uid !== null || deleted_at !== null || state === 'Refused') return Promise.resolve();
    this.#set(row.id, { state: 'Refused', summary: sentence, applied_generation: generation, ...refusal(sentence) });
    this.#record(row, `Refused: ${sentence}`);
    return Promise.resolve();
  }

  rejectChange(row: JobRow, sentence: string): Promise<void> {
    const message = `The cluster refused the change: ${sentence}`;
    this.#markApplied(row);
    this.#set(row.id, refusal(message));
    this.#record(row, `ChangeRefused: ${message}`);
    return Promise.resolve();
  }

  recordDeleteSent(row: JobRow): Promise<void> {
    this.#set(row.id, { applied_generation: row.generation, ...APPLIED });
    return Promise.resolve();
  }

  recordDeleted(row: JobRow): Promise<void> {
    const { generation } = this.#require(row.id);
    this.#set(row.id, { state: 'Deleted', deleted_at: new Date(), applied_generation: generation, ...APPLIED });
    return Promise.resolve();
  }

  #project(job: TrainingJob): void {
    const rows = [...this.#rows.values()];
    const known =
      rows.find(({ uid }) => uid === job.metadata.uid) ??
      rows.find(({ id, uid }) => uid === null && id === job.metadata.labels?.[LABELS.jobId]);
    if (known === undefined || known.deleted_at !== null) return;
    const resource = resourceColumnsOf(job, known);
    this.#set(known.id, {
      uid: resource.uid,
      spec: resource.spec,
      labels: resource.labels,
      state: resource.state,
      summary: resource.summary,
      resource_version: resource.resourceVersion ?? null,
    });
  }

  #markApplied(read: JobRow): void {
    const row = this.#require(read.id);
    const isNewest = row.generation === read.generation;
    this.#set(read.id, { ...(isNewest ? withoutChanges(row) : {}), applied_generation: read.generation, ...APPLIED });
  }

  #record(row: JobRow, event: string): void {
    this.#events.set(row.id, [...this.eventsOf(row.id), event]);
  }

  #set(jobId: string, columns: Partial<JobRow>): void {
    this.#rows.set(jobId, { ...this.#require(jobId), ...columns });
  }

  #require(jobId: string): JobRow {
    const row = this.#rows.get(jobId);
    if (row === undefined) throw new Error(`there is no row ${jobId}`);
    return row;
  }
}
