/** Events by time in a binary heap; those of one time in the order in which they were put in, so that a run is the same each time. */
export class EventQueue<Event> {
  readonly #heap: Entry<Event>[] = [];
  #sequence = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** When the next event is due; undefined: there is none. */
  get nextAtMs(): number | undefined {
    return this.#heap[0]?.atMs;
  }

  push(atMs: number, event: Event): void {
    if (!Number.isFinite(atMs))
      throw new RangeError(`an event's time must be a finite number of milliseconds, not ${atMs}`);
    this.#heap.push({ atMs, sequence: this.#sequence++, event });
    this.#rise(this.#heap.length - 1);
  }

  pop(): { readonly atMs: number; readonly event: Event } | undefined {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (first === undefined || last === undefined) return undefined;
    if (this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#sink();
    }
    return first;
  }

  #rise(from: number): void {
    for (let index = from; index > 0;) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfLater(parent, index)) return;
      index = parent;
    }
  }

  #sink(): void {
    for (let index = 0; ;) {
      const left = 2 * index + 1;
      const child = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#swapIfLater(index, child)) return;
      index = child;
    }
  }

  #swapIfLater(upper: number, lower: number): boolean {
    const [one, other] = [this.#heap[upper], this.#heap[lower]];
    if (one === undefined || other === undefined || !this.#isBefore(lower, upper)) return false;
    [this.#heap[upper], this.#heap[lower]] = [other, one];
    return true;
  }

  #isBefore(index: number, than: number): boolean {
    const [one, other] = [this.#heap[index], this.#heap[than]];
    if (one === undefined || other === undefined) return false;
    return one.atMs < other.atMs || (one.atMs === other.atMs && one.sequence < other.sequence);
  }
}

interface Entry<Event> {
  readonly atMs: number;
  readonly sequence: number;
  readonly event: Event;
}
