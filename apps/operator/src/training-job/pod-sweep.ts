import { LABELS, POD_FINALIZER } from '@coxswain/api-types';
import {
  isDeniedByAdmission,
  isInvalid,
  isNotFound,
  sleep,
  type Clock,
  type KubeClient,
  type KubeObject,
} from '@coxswain/kube';
import type { CachedPod } from '../cluster/cached-pod.ts';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { BY_JOB, BY_UID } from '../cluster/indexes.ts';
import { podsPath, trainingJobsPath } from '../cluster/paths.ts';
import { withoutFinalizer } from '../cluster/without-finalizer.ts';

/** Parts of the sweep. `client` must reject writes while this process does not lead. */
export interface PodSweepParts {
  readonly client: Pick<KubeClient, 'get' | 'patch'>;
  readonly cache: Pick<ClusterCache, 'jobs' | 'pods'>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

const INTERVAL_MS = 5_000;
/** Limit per sweep. Each stray costs a live read, one after the other, and a tenant may create thousands. */
const PODS_PER_SWEEP = 200;

/**
 * Removes our finalizer from pods that no job's reconcile will ever see. Either their job is gone (its finalizer was removed, it was deleted without
 * its children, another release created it), or they no longer belong to it. Without this, the garbage collector could never delete such a pod.
 * Whether the job is gone is read from the API server, once per job.
 */
export class PodSweep {
  readonly #parts: PodSweepParts;
  /** UIDs of strays that had a turn in this round, so that strays that fail do not block the others. */
  readonly #handled = new Set<string>();

  constructor(parts: PodSweepParts) {
    this.#parts = parts;
  }

  /** Sweeps from time to time until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.sweep().catch((error: unknown) => this.#parts.onError(error));
      await sleep(this.#parts.clock, INTERVAL_MS, signal);
    }
  }

  /** Sweeps once. Pods that fail are retried in the next sweep. */
  async sweep(): Promise<void> {
    const isGone = new Map<string, Promise<boolean>>();
    for (const pod of this.#turn()) {
      try {
        const live = await this.#parts.client.get<KubeObject>(pathOf(pod));
        const isHeld = live.metadata.finalizers?.includes(POD_FINALIZER) === true;
        if (live.metadata.uid !== pod.metadata.uid || !isHeld) continue;
        const jobUid = pod.gang?.jobUid ?? '';
        const gone = isGone.get(jobUid) ?? this.#isJobGone(live, jobUid);
        isGone.set(jobUid, gone);
        if ((await gone) || isDisowned(pod)) await this.#removeFinalizers(live);
      } catch (error) {
        // Deleted or changed meanwhile; the next sweep reads it.
        const isOutdated = isNotFound(error) || (isInvalid(error) && !isDeniedByAdmission(error));
        if (!isOutdated) this.#parts.onError(error);
      }
    }
  }

  /** Order of strays: those without a turn first, and of these the ones that are being deleted, because a client waits for them. */
  #turn(): readonly CachedPod[] {
    const strays = this.#strays();
    const hadTurn = ({ metadata }: CachedPod): boolean => this.#handled.has(metadata.uid ?? '');
    const waiting = strays.filter((pod) => !hadTurn(pod));
    const turn = [...deletedFirst(waiting), ...deletedFirst(strays.filter(hadTurn))].slice(0, PODS_PER_SWEEP);
    if (waiting.length <= PODS_PER_SWEEP) this.#handled.clear();
    for (const { metadata } of turn) this.#handled.add(metadata.uid ?? '');
    return turn;
  }

  /** Whether the cache shows a stray; the API server confirms it later. */
  #strays(): readonly CachedPod[] {
    const { jobs, pods } = this.#parts.cache;
    return pods.cached.indexKeys(BY_JOB).flatMap((jobUid) => {
      const hasJob = jobs.cached.byIndex(BY_UID, jobUid).length > 0;
      return pods.cached
        .byIndex(BY_JOB, jobUid)
        .filter(
          (pod) =>
            pod.gang?.finalizerPosition !== undefined &&
            ((jobUid !== '' && !hasJob && pod.gang.nameless !== true) || isDisowned(pod)),
        );
    });
  }

  async #isJobGone(pod: KubeObject, jobUid: string): Promise<boolean> {
    const { namespace, labels = {}, ownerReferences = [] } = pod.metadata;
    const name = ownerReferences.find(({ uid }) => uid === jobUid)?.name ?? labels[LABELS.jobName];
    // Owner and label were removed, so no job can be looked up and no reconcile handles the pod. Once deleted, its finalizer is removed as for a disowned pod.
    if (name === undefined || name === '') return false;
    try {
      const job = await this.#parts.client.get<KubeObject>(trainingJobsPath({ namespace, name }));
      return job.metadata.uid !== jobUid;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }

  async #removeFinalizers(pod: KubeObject): Promise<void> {
    await this.#parts.client.patch(pathOf(pod), withoutFinalizer(pod, POD_FINALIZER), { type: 'json' });
  }
}

function deletedFirst(pods: readonly CachedPod[]): readonly CachedPod[] {
  const isDeleted = ({ metadata }: CachedPod): boolean => metadata.deletionTimestamp !== undefined;
  return [...pods.filter(isDeleted), ...pods.filter((pod) => !isDeleted(pod))];
}

/** Deleted, and no job's own by its owner: no reconcile counts it. */
function isDisowned({ metadata, gang }: CachedPod): boolean {
  return metadata.deletionTimestamp !== undefined && gang !== undefined && gang.ownerUid !== gang.jobUid;
}

function pathOf({ metadata: { namespace, name } }: KubeObject): string {
  return podsPath({ namespace, name });
}
