import type { ObjectCache } from '@coxswain/kube';
import type { CachedPod } from './cached-pod.ts';

/** GPUs held on each node by pods that are bound and not terminal, whoever made them; kept current pod by pod. */
export class GpuUsage {
  readonly #byNode = new Map<string, number>();
  readonly #listeners = new Set<(node: string) => void>();

  constructor(pods: ObjectCache<CachedPod>) {
    pods.onChange((change) => {
      // Most changes of a pod do not concern its GPUs, and one that took them away for a moment would look like GPUs that become free.
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
