import type { ObjectCache } from '@coxswain/kube';
import type { CachedPod } from './cached-pod.ts';

/** GPUs held on each node by pods that are bound and not terminal, whoever made them; kept current pod by pod. */
export class GpuUsage {
  readonly #byNode = new Map<string, number>();

  constructor(pods: ObjectCache<CachedPod>) {
    pods.onChange((change) => {
      if (change.kind !== 'added') this.#count(change.kind === 'updated' ? change.previous : change.object, -1);
      if (change.kind !== 'deleted') this.#count(change.object, 1);
    });
  }

  /** GPUs held on that node. */
  on(node: string): number {
    return this.#byNode.get(node) ?? 0;
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
  }
}
