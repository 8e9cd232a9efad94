import { API_GROUP_VERSION, LABELS, type TrainingJob } from '@coxswain/api-types';
import { isAlreadyExists, isConflict, isKindUnknown, isNotFound, isRefusal, type KubeClient } from '@coxswain/kube';
import { collectionOf, sentenceOf, trainingJobPath } from '../cluster/resources.ts';
import { labelPatch } from '../jobs/job-labels.ts';
import { desiredLabels, desiredSpec, type JobRow } from '../jobs/job-row.ts';
import { nameTakenSentence } from '../projection/job-projection.ts';
import { changeToward } from './change-toward.ts';
import type { JobRowStore } from './job-row-store.ts';

/*
 * How a row becomes a resource.
 *
 * Several workers may hold an entry of the same job, and each may be stopped at any point. Nothing is locked; instead the order of reads
 * makes an old entry harmless: the resource is read first, the row after it, and the write carries the resource's UID and resourceVersion.
 * If the write succeeds, nobody wrote since the resource was read, so nobody has applied a newer generation than the one the row then had.
 *
 * `generation` counts the changes that were asked for. What was applied is recorded under the generation that was read: a change that came
 * meanwhile stays pending, and its own queue entry, or the sweep, brings it here again.
 */

/** Writes of others can come between read and write; status is written often. */
const MAX_ROUNDS = 8;

/** What every call of one apply has. */
type CallOptions = { readonly signal?: AbortSignal };

/** Somebody else wrote the resource between each read and write of ours. */
export class ChangedByOthers extends Error {}

/** The calls that the writer makes. */
export type WriterClient = Pick<KubeClient, 'get' | 'create' | 'patch' | 'delete'>;

/** Brings one resource in line with its row. */
export class ClusterWriter {
  readonly #rows: JobRowStore;
  readonly #kube: WriterClient;

  constructor(parts: { readonly rows: JobRowStore; readonly kube: WriterClient }) {
    this.#rows = parts.rows;
    this.#kube = parts.kube;
  }

  /** Applies what the row says now. Rejects when the API server or the database is away, or when the signal ends a call: try again later. */
  async apply(jobId: string, signal?: AbortSignal): Promise<void> {
    const call = signal === undefined ? {} : { signal };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const row = await this.#rows.find(jobId);
      if (row === undefined || row.deleted_at !== null || row.generation === row.applied_generation) return;
      const isDone = row.uid === null ? await this.#createResource(row, call) : await this.#updateResource(row, call);
      if (isDone) return;
    }
    throw new ChangedByOthers(
      `job ${jobId} was changed by others ${MAX_ROUNDS} times in a row; it is tried again later`,
    );
  }

  /** The row has no resource yet. True when there is nothing more to do. */
  async #createResource(row: JobRow, call: CallOptions): Promise<boolean> {
    if (row.desired_delete) return this.#abandon(row, call);
    try {
      const made = await this.#kube.create<TrainingJob>(collectionOf('trainingjobs', row.namespace), manifestOf(row), {
        ...call,
        fieldValidation: 'Strict',
      });
      await this.#rows.recordApplied(row, made);
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return this.#adoptOrRefuse(row, call);
      // 404 is a namespace that does not exist; 403 is admission. Neither becomes right by trying again.
      if (!isRefusal(error) && !(isNotFound(error) && !isKindUnknown(error))) throw error;
      await this.#rows.refuse(row, `The cluster refused the job: ${sentenceOf(error)}`);
      return true;
    }
  }

  /** An earlier try may have succeeded without our learning of it; our id on the object tells. */
  async #adoptOrRefuse(row: JobRow, call: CallOptions): Promise<boolean> {
    const present = await this.#find(row, call);
    if (present === undefined) return false;
    if (present.metadata.labels?.[LABELS.jobId] !== row.id) {
      await this.#rows.refuse(row, nameTakenSentence(row.name));
      return true;
    }
    await this.#rows.adopt(present);
    return false;
  }

  /** Deleted before it was made: an object that an unanswered create left behind is adopted, and deleted in the next round. */
  async #abandon(row: JobRow, call: CallOptions): Promise<boolean> {
    const present = await this.#find(row, call);
    if (present !== undefined && present.metadata.labels?.[LABELS.jobId] === row.id) {
      await this.#rows.adopt(present);
      return false;
    }
    await this.#rows.recordDeleted(row);
    return true;
  }

  async #updateResource(before: JobRow, call: CallOptions): Promise<boolean> {
    const present = await this.#find(before, call);
    // A missing object is never brought back, and its successor of the same name is somebody else’s.
    if (present === undefined || present.metadata.uid !== before.uid) {
      await this.#rows.recordDeleted(before);
      return true;
    }
    const row = await this.#rows.find(before.id);
    if (row === undefined || row.deleted_at !== null) return true;
    if (row.desired_delete) return this.#delete(row, call);

    const { change, isComplete } = changeToward(desiredSpec(row), present.spec);
    const labels = labelPatch(row.desired_labels, present.metadata.labels);
    if (change === undefined && labels === undefined) {
      await this.#rows.recordApplied(row, present);
      return true;
    }
    const { uid, resourceVersion } = present.metadata;
    const body = { metadata: { uid, resourceVersion, ...(labels && { labels }) }, ...(change && { spec: change }) };
    try {
      const patched = await this.#kube.patch<TrainingJob>(trainingJobPath(row), body, {
        ...call,
        type: 'merge',
      });
      if (!isComplete) return false;
      await this.#rows.recordApplied(row, patched);
      return true;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      if (!isRefusal(error)) throw error;
      await this.#rows.rejectChange(row, sentenceOf(error));
      return true;
    }
  }

  async #delete(row: JobRow, call: CallOptions): Promise<boolean> {
    try {
      await this.#kube.delete(trainingJobPath(row), {
        ...call,
        uid: row.uid ?? '',
        propagationPolicy: 'Background',
      });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
      await this.#rows.recordDeleted(row);
      return true;
    }
    await this.#rows.recordDeleteSent(row);
    return true;
  }

  async #find(row: JobRow, call: CallOptions): Promise<TrainingJob | undefined> {
    try {
      return await this.#kube.get<TrainingJob>(trainingJobPath(row), call);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

/** The object as it is created. The label says whose it is. */
function manifestOf(row: JobRow): unknown {
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'TrainingJob',
    metadata: { name: row.name, namespace: row.namespace, labels: { ...desiredLabels(row), [LABELS.jobId]: row.id } },
    spec: desiredSpec(row),
  };
}
