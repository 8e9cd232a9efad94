import type { Checkpoint, CheckpointResourceStatus, OperatorEvent, TrainingJob } from '@coxswain/api-types';
import { type Clock, isConflict, isNotFound, keyOf, type KubeClient, type KubeObject } from '@coxswain/kube';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { checkpointsPath } from '../cluster/paths.ts';
import type { WorkerContext } from '../worker-pods/worker-context.ts';

/** Parts of retention. `client` must reject writes while this process does not lead. */
export interface RetentionParts {
  readonly client: Pick<KubeClient, 'get' | 'list' | 'create' | 'delete' | 'replace'>;
  readonly cache: Pick<ClusterCache, 'checkpoints' | 'jobs' | 'placements' | 'pods'>;
  readonly clock: Clock;
  readonly pods: Pick<WorkerContext, 'launcherImage' | 'user' | 'workers'>;
  /** Records an Event of the job, or of the Checkpoint if the job is gone. */
  readonly announce: (regarding: KubeObject, reason: OperatorEvent, about: RetentionEvent) => void;
  readonly onError: (error: unknown) => void;
}

/** An Event about a checkpoint. */
export interface RetentionEvent {
  /** Name of the checkpoint. */
  readonly about: string;
  readonly note: string;
}

/** A Checkpoint as the API server holds it. */
export type CheckpointObject = Checkpoint & KubeObject;

/** Between two tries of the same checkpoint that came to nothing. */
const AGAIN_MS = 3_600_000;

/** Writes of retention, and when each checkpoint is tried again. */
export class CheckpointWrites {
  readonly #parts: Pick<RetentionParts, 'client' | 'cache' | 'clock' | 'onError'>;
  /** By UID of the checkpoint, in monotonic milliseconds. */
  readonly #notBefore = new Map<string, number>();

  constructor(parts: Pick<RetentionParts, 'client' | 'cache' | 'clock' | 'onError'>) {
    this.#parts = parts;
  }

  /** Forgets what is over. */
  expire(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    for (const [uid, atMs] of this.#notBefore) if (atMs < nowMs) this.#notBefore.delete(uid);
  }

  jobOf({ spec, metadata: { namespace } }: Checkpoint): (TrainingJob & KubeObject) | undefined {
    const key = keyOf({ metadata: { namespace, name: spec.jobName } } as KubeObject);
    return this.#parts.cache.jobs.get(key, spec.jobUid);
  }

  isDue({ metadata }: Checkpoint): boolean {
    return this.#parts.clock.monotonicMs() >= (this.#notBefore.get(metadata.uid ?? '') ?? 0);
  }

  delay({ metadata }: Checkpoint): void {
    this.#notBefore.set(metadata.uid ?? '', this.#parts.clock.monotonicMs() + AGAIN_MS);
  }

  async writeIfNew(checkpoint: CheckpointObject, status: CheckpointResourceStatus | undefined): Promise<void> {
    if (status !== undefined) await this.write(checkpoint, status);
  }

  async write(checkpoint: CheckpointObject, status: CheckpointResourceStatus): Promise<CheckpointObject> {
    const { name, namespace, uid = '', resourceVersion = '' } = checkpoint.metadata;
    const metadata = { name, uid, resourceVersion, ...(namespace === undefined ? {} : { namespace }) };
    const body = { ...checkpoint, metadata, status };
    const written = await this.#parts.client.replace(checkpointsPath({ namespace, name }), body, {
      subresource: 'status',
    });
    const object = written as unknown as CheckpointObject;
    this.#parts.cache.checkpoints.remember(checkpoint.spec.jobUid, object);
    return object;
  }

  async deleteIfPresent(path: string, uid = ''): Promise<void> {
    try {
      await this.#parts.client.delete(path, { uid });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  async attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // The object has changed meanwhile; the next reconcile reads it again.
      if (!isConflict(error)) this.#parts.onError(error);
    }
  }
}
