import { API_GROUP_VERSION, isSameLayout, LABELS, type TrainingJob, type TrainingJobSpec } from '@coxswain/api-types';
import { isAlreadyExists, isConflict, isKindUnknown, isNotFound, isRefusal, type KubeClient } from '@coxswain/kube';
import type { Database, Sql } from '@coxswain/persistence';
import { collectionOf, sentenceOf, trainingJobPath } from '../cluster/resources.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { findJobRow, type JobRow, desiredSpec } from '../jobs/job-row.ts';
import { markDeleteSent, markJobDeleted, refuseJob, markApplied } from '../jobs/job-table.ts';
import { nameTakenSentence, projectJob } from '../projection/job-projection.ts';
import { notifyJobChanged } from '../jobs/job-changes.ts';

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

/** The calls that the writer makes. */
export type WriterClient = Pick<KubeClient, 'get' | 'create' | 'patch' | 'delete'>;

/** Brings one resource in line with its row. */
export class ClusterWriter {
  readonly #database: Database;
  readonly #cluster: Cluster;
  readonly #kube: WriterClient;

  constructor(parts: { readonly database: Database; readonly cluster: Cluster; readonly kube: WriterClient }) {
    this.#database = parts.database;
    this.#cluster = parts.cluster;
    this.#kube = parts.kube;
  }

  /** Applies what the row says now. Rejects when the API server or the database is away: try again later. */
  async apply(jobId: string): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const row = await findJobRow(this.#database, { clusterId: this.#cluster.id, jobId });
      if (row === undefined || row.deleted_at !== null || row.generation === row.applied_generation) return;
      const isDone = row.uid === null ? await this.#createResource(row) : await this.#updateResource(row);
      if (isDone) return;
    }
    throw new Error(`job ${jobId} was changed by others ${MAX_ROUNDS} times in a row; it is tried again later`);
  }

  /** The row has no resource yet. True when there is nothing more to do. */
  async #createResource(row: JobRow): Promise<boolean> {
    if (row.desired_delete) return this.#abandon(row);
    try {
      const made = await this.#kube.create<TrainingJob>(collectionOf('trainingjobs', row.namespace), manifestOf(row), {
        fieldValidation: 'Strict',
      });
      await this.#recordApplied(row, made);
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return this.#adoptOrRefuse(row);
      // 404 is a namespace that does not exist; 403 is admission. Neither becomes right by trying again.
      if (!isRefusal(error) && !(isNotFound(error) && !isKindUnknown(error))) throw error;
      await this.#refuse(row, `The cluster refused the job: ${sentenceOf(error)}`);
      return true;
    }
  }

  /** An earlier try may have succeeded without our learning of it; our id on the object tells. */
  async #adoptOrRefuse(row: JobRow): Promise<boolean> {
    const present = await this.#find(row);
    if (present === undefined) return false;
    if (present.metadata.labels?.[LABELS.jobId] !== row.id) {
      await this.#refuse(row, nameTakenSentence(row.name));
      return true;
    }
    await this.#database.transaction((sql) => projectJob(sql, this.#cluster, present));
    return false;
  }

  /** Deleted before it was made: an object that an unanswered create left behind is adopted, and deleted in the next round. */
  async #abandon(row: JobRow): Promise<boolean> {
    const present = await this.#find(row);
    if (present !== undefined && present.metadata.labels?.[LABELS.jobId] === row.id) {
      await this.#database.transaction((sql) => projectJob(sql, this.#cluster, present));
      return false;
    }
    await this.#markGone(row);
    return true;
  }

  async #updateResource(before: JobRow): Promise<boolean> {
    const present = await this.#find(before);
    // A missing object is never brought back, and its successor of the same name is somebody else’s.
    if (present === undefined || present.metadata.uid !== before.uid) {
      await this.#markGone(before);
      return true;
    }
    const row = await findJobRow(this.#database, { clusterId: this.#cluster.id, jobId: before.id });
    if (row === undefined || row.deleted_at !== null) return true;
    if (row.desired_delete) return this.#delete(row);

    const { change, isComplete } = changeToward(desiredSpec(row), present.spec);
    if (change === undefined) {
      await this.#recordApplied(row, present);
      return true;
    }
    const { uid, resourceVersion } = present.metadata;
    const body = { metadata: { uid, resourceVersion }, spec: change };
    try {
      const patched = await this.#kube.patch<TrainingJob>(trainingJobPath(row), body, { type: 'merge' });
      if (!isComplete) return false;
      await this.#recordApplied(row, patched);
      return true;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      if (!isRefusal(error)) throw error;
      await this.#rejectChange(row, sentenceOf(error));
      return true;
    }
  }

  async #delete(row: JobRow): Promise<boolean> {
    try {
      await this.#kube.delete(trainingJobPath(row), { uid: row.uid ?? '', propagationPolicy: 'Background' });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
      await this.#markGone(row);
      return true;
    }
    await markDeleteSent(this.#database, row);
    return true;
  }

  async #find(row: JobRow): Promise<TrainingJob | undefined> {
    try {
      return await this.#kube.get<TrainingJob>(trainingJobPath(row));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #recordApplied(row: JobRow, job: TrainingJob): Promise<void> {
    await this.#database.transaction(async (sql) => {
      await projectJob(sql, this.#cluster, job);
      await markApplied(sql, row);
      await notifyJobChanged(sql, row.id);
    });
  }

  async #refuse(row: JobRow, sentence: string): Promise<void> {
    await this.#database.transaction(async (sql) => {
      if (!(await refuseJob(sql, row, sentence))) return;
      await recordEvent(sql, row, { key: 'api/Refused', type: 'Refused', severity: 'error', message: sentence });
      await notifyJobChanged(sql, row.id);
    });
  }

  /** The cluster refused a change of a job that exists: the job goes on as it was, and its history says so. */
  async #rejectChange(row: JobRow, sentence: string): Promise<void> {
    await this.#database.transaction(async (sql) => {
      await markApplied(sql, row);
      await recordEvent(sql, row, {
        key: `api/ChangeRefused/${row.generation}`,
        type: 'ChangeRefused',
        severity: 'warning',
        message: `The cluster refused the change: ${sentence}`,
      });
      await notifyJobChanged(sql, row.id);
    });
  }

  async #markGone(row: JobRow): Promise<void> {
    await this.#database.transaction(async (sql) => {
      await markJobDeleted(sql, row);
      await notifyJobChanged(sql, row.id);
    });
  }
}

/** The object as it is created. The label says whose it is. */
function manifestOf(row: JobRow): unknown {
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'TrainingJob',
    metadata: { name: row.name, namespace: row.namespace, labels: { [LABELS.jobId]: row.id } },
    spec: desiredSpec(row),
  };
}

/**
 * The next change of the spec toward what was asked; undefined when there is none. Cancel goes alone: it beats whatever else was asked.
 * A new layout needs a suspended job, so a job that runs is suspended first and the rest follows in the next round.
 */
export function changeToward(
  wanted: TrainingJobSpec,
  present: TrainingJobSpec,
): { readonly change: SpecChange | undefined; readonly isComplete: boolean } {
  if (wanted.cancel) return { change: present.cancel ? undefined : { cancel: true }, isComplete: true };
  const layoutDiffers = !isSameLayout(wanted.layout, present.layout) || wanted.gpus !== present.gpus;
  if (layoutDiffers && !present.suspend) return { change: { suspend: true }, isComplete: false };
  if (!layoutDiffers && wanted.suspend === present.suspend) return { change: undefined, isComplete: true };
  const division = layoutDiffers ? divisionChange(wanted, present) : {};
  return { change: { suspend: wanted.suspend, ...division }, isComplete: true };
}

/** Part of a JSON merge patch (RFC 7396) of the spec: null removes. */
interface SpecChange {
  readonly suspend?: boolean;
  readonly cancel?: boolean;
  readonly layout?: unknown;
  readonly gpus?: number | null;
}

/** A layout takes the place of a number of GPUs, and the other way round. */
function divisionChange(wanted: TrainingJobSpec, present: TrainingJobSpec): Pick<SpecChange, 'layout' | 'gpus'> {
  if (wanted.layout === undefined) return { layout: null, gpus: wanted.gpus ?? null };
  return {
    layout: replacing(present.layout, wanted.layout),
    ...(present.gpus === undefined ? {} : { gpus: null }),
  };
}

/** A merge patch merges objects, so what is there and not wanted has to be named to be removed. */
function replacing(present: unknown, wanted: unknown): unknown {
  if (!isObject(present) || !isObject(wanted)) return wanted;
  const removed = Object.keys(present).filter((key) => wanted[key] === undefined);
  return Object.fromEntries([
    ...Object.entries(wanted).map(([key, value]) => [key, replacing(present[key], value)]),
    ...removed.map((key) => [key, null]),
  ]) as unknown;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function recordEvent(
  sql: Sql,
  row: JobRow,
  event: {
    readonly key: string;
    readonly type: string;
    readonly severity: 'warning' | 'error';
    readonly message: string;
  },
): Promise<void> {
  await sql.query(
    `INSERT INTO job_events (job_id, key, type, severity, message, at) VALUES ($1, $2, $3, $4, $5, now())
     ON CONFLICT (job_id, key) DO NOTHING`,
    [row.id, event.key, event.type, event.severity, event.message],
  );
}
