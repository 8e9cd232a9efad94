/**
 * Number of free GPUs of each node, updated with every change, because reconciling waiting jobs may ask a thousand times a second. Only GPUs of
 * bound pods count as taken. So a gang that does not fit here fits nowhere; one that fits here may still find its GPUs reserved.
 */
export class FreeGpus {
  readonly #freeOf = new Map<string, number>();
  /** At index n: how many nodes have exactly n GPUs free. */
  readonly #nodesWithExactly: number[] = [];
  #total = 0;
  #rises = 0;

  /** Free GPUs of all nodes. */
  get total(): number {
    return this.#total;
  }

  /** How often a node's free GPUs have increased. While this number is unchanged, no gang fits that did not fit before. */
  get rises(): number {
    return this.#rises;
  }

  /** A reservation ended. Reserved GPUs are not counted here, so this counts as an increase too. */
  reservationEnded(): void {
    this.#rises += 1;
  }

  /** Number of nodes with at least that many free GPUs. */
  nodesWith(gpus: number): number {
    return this.#nodesWithExactly.slice(Math.max(1, gpus)).reduce((sum, nodes) => sum + nodes, 0);
  }

  /** Sets the free GPUs of a node; 0 for a node that is gone or unschedulable. */
  set(node: string, free: number): void {
    const before = this.#freeOf.get(node) ?? 0;
    const now = Math.max(0, free);
    if (before === now) return;
    this.#count(before, -1);
    this.#count(now, 1);
    if (now === 0) this.#freeOf.delete(node);
    else this.#freeOf.set(node, now);
    if (now > before) this.#rises += 1;
  }

  #count(free: number, nodes: 1 | -1): void {
    if (free === 0) return;
    while (this.#nodesWithExactly.length <= free) this.#nodesWithExactly.push(0);
    this.#nodesWithExactly[free] = (this.#nodesWithExactly[free] ?? 0) + nodes;
    this.#total += nodes * free;
  }
}
