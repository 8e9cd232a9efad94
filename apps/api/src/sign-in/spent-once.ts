/** What may be used once, such as the state of a sign-in. Bounded: the oldest is forgotten first, and everything after its time. */
export class SpentOnce {
  readonly #most: number;
  readonly #forMs: number;
  /** Until when, in the order in which they were spent. */
  readonly #spent = new Map<string, number>();

  constructor({ most, forMs }: { readonly most: number; readonly forMs: number }) {
    this.#most = most;
    this.#forMs = forMs;
  }

  get size(): number {
    return this.#spent.size;
  }

  /** Whether it was unused until now. */
  spend(key: string, nowMs: number): boolean {
    if ((this.#spent.get(key) ?? 0) > nowMs) return false;
    for (const [oldest, untilMs] of this.#spent) {
      if (untilMs > nowMs && this.#spent.size < this.#most) break;
      this.#spent.delete(oldest);
    }
    this.#spent.set(key, nowMs + this.#forMs);
    return true;
  }

  /** It may be used again. */
  giveBack(key: string): void {
    this.#spent.delete(key);
  }
}
