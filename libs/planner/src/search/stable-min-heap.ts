/** A binary heap that removes the entry with the least key first; equal keys in the order of insertion. */
export class StableMinHeap<Entry> {
  readonly #heap: { readonly key: number; readonly turn: number; readonly entry: Entry }[] = [];
  #turns = 0;

  push(key: number, entry: Entry): void {
    const heap = this.#heap;
    const added = { key, turn: this.#turns++, entry };
    let at = heap.push(added) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(added, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = added;
  }

  pop(): Entry | undefined {
    const heap = this.#heap;
    const [least] = heap;
    const last = heap.pop();
    if (last !== undefined && heap.length > 0) this.#sink(last);
    return least?.entry;
  }

  #sink(entry: { readonly key: number; readonly turn: number; readonly entry: Entry }): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      const left = heap[2 * at + 1];
      const right = heap[2 * at + 2];
      if (left === undefined) break;
      const isRight = right !== undefined && isBefore(right, left);
      const lesser = isRight ? right : left;
      if (!isBefore(lesser, entry)) break;
      heap[at] = lesser;
      at = 2 * at + (isRight ? 2 : 1);
    }
    heap[at] = entry;
  }
}

interface Keyed {
  readonly key: number;
  readonly turn: number;
}

function isBefore(left: Keyed, right: Keyed): boolean {
  return left.key < right.key || (left.key === right.key && left.turn < right.turn);
}
