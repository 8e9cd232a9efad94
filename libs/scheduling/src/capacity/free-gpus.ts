/**
 * How many GPUs are free, node by node, kept current change by change: what a look at a waiting job may ask a thousand times a second. Only what
 * is sure counts as taken (pods that are bound), so what does not fit here fits nowhere, and what fits here may still be promised to somebody.
 */
export class FreeGpus {
  readonly #freeOf = new Map<string, number>();
  /** How many nodes have exactly that many free. */
  readonly #nodesWithExactly: number[] = [];
  #total = 0;
  #rises = 0;

  /** GPUs free in all. */
  get total(): number {
    return this.#total;
  }

  /** Counts the times that a node came to have more free than before: as long as it stands still, nothing fits that did not fit. */
  get rises(): number {
    return this.#rises;
  }

  /** GPUs that were promised, which are not counted here, came back to whoever asks next: that is a rise too. */
  promiseEnded(): void {
    this.#rises += 1;
  }

  /** Nodes that have that many free, or more. */
  nodesWith(gpus: number): number {
    return this.#nodesWithExactly.slice(Math.max(1, gpus)).reduce((sum, nodes) => sum + nodes, 0);
  }

  /** That node has so many free now; 0 for one that is gone or takes no pods. */
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
