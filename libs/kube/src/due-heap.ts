/** Entries by due time, the earliest first. A later `set` of a key replaces its time. */
export class DueHeap {
  readonly #dueAtMs = new Map<string, number>();
  #heap: { readonly key: string; readonly dueAtMs: number }[] = [];

  /** How many keys wait. */
  get size(): number {
    return this.#dueAtMs.size;
  }

  /** When a key is due; undefined when it does not wait. */
  dueAtMs(key: string): number | undefined {
    return this.#dueAtMs.get(key);
  }

  set(key: string, dueAtMs: number): void {
    this.#dueAtMs.set(key, dueAtMs);
    this.#heap.push({ key, dueAtMs });
    this.#up(this.#heap.length - 1);
    // Replaced entries stay in the heap until they surface; this bounds them.
    if (this.#heap.length > 64 && this.#heap.length > 4 * this.#dueAtMs.size) this.#rebuild();
  }

  delete(key: string): void {
    this.#dueAtMs.delete(key);
  }

  /** The earliest due time. */
  earliestMs(): number | undefined {
    this.#discard();
    return this.#heap[0]?.dueAtMs;
  }

  /** Removes and returns the keys due at `nowMs`, earliest first. */
  takeDue(nowMs: number): readonly string[] {
    const due: string[] = [];
    for (;;) {
      this.#discard();
      const first = this.#heap[0];
      if (first === undefined || first.dueAtMs > nowMs) return due;
      this.#pop();
      this.#dueAtMs.delete(first.key);
      due.push(first.key);
    }
  }

  #discard(): void {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (this.#dueAtMs.get(first.key) === first.dueAtMs) return;
      this.#pop();
    }
  }

  #rebuild(): void {
    this.#heap = [...this.#dueAtMs].map(([key, dueAtMs]) => ({ key, dueAtMs })).sort((a, b) => a.dueAtMs - b.dueAtMs);
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const least = [left, left + 1].reduce((best, child) => (this.#at(child) < this.#at(best) ? child : best), at);
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #up(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#at(parent) <= this.#at(at)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #at(position: number): number {
    return this.#heap[position]?.dueAtMs ?? Infinity;
  }

  #swap(a: number, b: number): void {
    const one = this.#heap[a];
    const other = this.#heap[b];
    if (one === undefined || other === undefined) return;
    this.#heap[a] = other;
    this.#heap[b] = one;
  }
}
