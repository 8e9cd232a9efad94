import { LABELS } from '@coxswain/api-types';
import { useOfPod } from '@coxswain/fabric';
import { type Clock, type KubeClient, listPages, resourcePath } from '@coxswain/kube';

/** A picture of the fabric may be this old. A list of every pod is expensive on a large cluster. */
const INTERVAL_MS = 30_000;
const PODS_PER_PAGE = 500;
/** Pods that hold devices of a node, of jobs of Coxswain or not. */
const HOLDING = 'spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed';

/** What reading pods needs. */
export interface SeenPodsParts {
  readonly kube: Pick<KubeClient, 'list'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** GPUs that pods of others hold, by node. They are read while somebody asks. */
export class SeenPods {
  readonly #parts: SeenPodsParts;
  #held: ReadonlyMap<string, number> | undefined;
  #beganAtMs = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(parts: SeenPodsParts) {
    this.#parts = parts;
  }

  /** As last read; undefined if the pods of the cluster cannot be read, as by an API that is confined to namespaces. */
  async heldByOthers(): Promise<ReadonlyMap<string, number> | undefined> {
    const nowMs = this.#parts.clock.monotonicMs();
    if (this.#reading === undefined && nowMs - this.#beganAtMs >= INTERVAL_MS) {
      this.#beganAtMs = nowMs;
      this.#reading = this.#read().finally(() => (this.#reading = undefined));
    }
    // Only the first question waits.
    if (this.#held === undefined) await this.#reading;
    return this.#held;
  }

  async #read(): Promise<void> {
    const held = new Map<string, number>();
    try {
      const pods = resourcePath({ group: '', version: 'v1', plural: 'pods' });
      const pages = listPages(this.#parts.kube, pods, { pageSize: PODS_PER_PAGE, fieldSelector: HOLDING });
      for await (const page of pages) for (const pod of page) addUse(held, pod);
      this.#held = held;
    } catch {
      this.#held = undefined;
    }
  }
}

/** Pods of jobs are known by the placement of their job. */
function addUse(held: Map<string, number>, pod: { readonly metadata: { readonly labels?: object } }): void {
  if (LABELS.jobUid in (pod.metadata.labels ?? {})) return;
  const { nodeName, gpus, isOver } = useOfPod(pod);
  if (nodeName !== undefined && !isOver && gpus > 0) held.set(nodeName, (held.get(nodeName) ?? 0) + gpus);
}
