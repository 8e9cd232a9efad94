import type { QueueCluster, QueueJob } from '../load/queue-job.ts';

type Shape = Pick<QueueJob, 'pods' | 'gpusPerPod'>;

/** Free GPUs of equal nodes, without their places in the network. */
export class NodePool {
  readonly #free: number[];
  /** At index n: how many nodes have exactly n GPUs free. */
  readonly #nodesWith: number[];

  constructor({ nodes, gpusPerNode }: QueueCluster) {
    this.#free = Array.from({ length: nodes }, () => gpusPerNode);
    this.#nodesWith = Array.from({ length: gpusPerNode + 1 }, (_, free) => (free === gpusPerNode ? nodes : 0));
  }

  /** A copy of its free GPUs, by node. */
  free(): number[] {
    return [...this.#free];
  }

  /** Whether every pod of the job would find a node now. */
  fits({ pods, gpusPerPod }: Shape): boolean {
    let nodes = 0;
    for (let free = gpusPerPod; free < this.#nodesWith.length; free++) nodes += this.#nodesWith[free] ?? 0;
    return nodes >= pods;
  }

  /** Nodes for the job's pods, those with the fewest free GPUs first, none of `without`; undefined: there are too few. */
  find({ pods, gpusPerPod }: Shape, without: ReadonlySet<number> = NONE): readonly number[] | undefined {
    const found: number[] = [];
    for (let free = gpusPerPod; free < this.#nodesWith.length; free++) {
      if (this.#nodesWith[free] === 0) continue;
      for (let node = 0; node < this.#free.length; node++) {
        if (this.#free[node] !== free || without.has(node)) continue;
        found.push(node);
        if (found.length === pods) return found;
      }
    }
    return undefined;
  }

  take(nodes: readonly number[], gpusPerPod: number): void {
    for (const node of nodes) this.#change(node, -gpusPerPod);
  }

  give(nodes: readonly number[], gpusPerPod: number): void {
    for (const node of nodes) this.#change(node, gpusPerPod);
  }

  #change(node: number, gpus: number): void {
    const before = this.#free[node] ?? 0;
    const after = before + gpus;
    this.#free[node] = after;
    this.#nodesWith[before] = (this.#nodesWith[before] ?? 0) - 1;
    this.#nodesWith[after] = (this.#nodesWith[after] ?? 0) + 1;
  }
}

const NONE: ReadonlySet<number> = new Set();
