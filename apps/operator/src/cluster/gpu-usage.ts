import type { ObjectCache } from '@coxswain/kube';
import type { CachedPod } from './cached-pod.ts';

/** GPUs on each node held by bound pods that have not ended, including pods of others. Updated with each pod event. */
export class GpuUsage {
  readonly #byNode = new Map<string, number>();
  readonly #listeners = new Set<(node: string) => void>();

  constructor(pods: ObjectCache<CachedPod>) {
    pods.onChange((change) => {
      // Most changes of a pod do not affect its GPUs. Removing and adding them again would look like free GPUs.
      if (change.kind === 'updated' && holdsTheSame(change.previous, change.object)) return;
      if (change.kind !== 'added') this.#count(change.kind === 'updated' ? change.previous : change.object, -1);
      if (change.kind !== 'deleted') this.#count(change.object, 1);
    });
  }

  /** GPUs held on that node. */
  on(node: string): number {
    return this.#byNode.get(node) ?? 0;
  }

  /** Calls `listener` with each node whose pods hold another number of GPUs than before. */
  onChange(listener: (node: string) => void): void {
    this.#listeners.add(listener);
  }

  /** A copy that the caller may add to. */
  snapshot(): Map<string, number> {
    return new Map(this.#byNode);
  }

  #count(pod: CachedPod, sign: 1 | -1): void {
    if (pod.nodeName === undefined || pod.terminal || pod.gpus === 0) return;
    const gpus = (this.#byNode.get(pod.nodeName) ?? 0) + sign * pod.gpus;
    if (gpus > 0) this.#byNode.set(pod.nodeName, gpus);
    else this.#byNode.delete(pod.nodeName);
    for (const listener of this.#listeners) listener(pod.nodeName);
  }
}

function holdsTheSame(one: CachedPod, other: CachedPod): boolean {
  return one.nodeName === other.nodeName && one.terminal === other.terminal && one.gpus === other.gpus;
}
