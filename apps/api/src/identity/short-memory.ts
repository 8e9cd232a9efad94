/** What was found out, and for how long it is good: 0 for what is to be asked again the next time. */
export interface Learned<T> {
  readonly value: T;
  readonly forMs: number;
}

/**
 * Caches answers for a moment. Callers that ask for the same key at the same time share one query, so a crowd costs as much as one caller. The cache
 * is bounded and drops the oldest entries first; rejections are not cached.
 */
export class ShortMemory<T> {
  readonly #most: number;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, { readonly value: T; readonly untilMs: number }>();
  readonly #asking = new Map<string, Promise<T>>();

  constructor({ most, nowMs }: { readonly most: number; readonly nowMs: () => number }) {
    this.#most = most;
    this.#nowMs = nowMs;
  }

  /** How many different answers are being waited for. */
  get asking(): number {
    return this.#asking.size;
  }

  /** What is known; undefined when it has to be asked. */
  recall(key: string): T | undefined {
    const known = this.#known.get(key);
    return known !== undefined && known.untilMs > this.#nowMs() ? known.value : undefined;
  }

  async once(key: string, ask: () => Promise<Learned<T>>): Promise<T> {
    const known = this.recall(key);
    if (known !== undefined) return known;
    const underWay = this.#asking.get(key);
    if (underWay !== undefined) return underWay;
    const asking: Promise<T> = ask()
      .then(({ value, forMs }) => {
        if (this.#asking.get(key) === asking) this.#remember(key, { value, forMs });
        return value;
      })
      .finally(() => {
        if (this.#asking.get(key) === asking) this.#asking.delete(key);
      });
    this.#asking.set(key, asking);
    return asking;
  }

  /** Forgets the answer of this key. Later callers do not share a query that is under way. */
  forget(key: string): void {
    this.#known.delete(key);
    this.#asking.delete(key);
  }

  #remember(key: string, { value, forMs }: Learned<T>): void {
    this.#known.delete(key);
    if (forMs <= 0) return;
    const nowMs = this.#nowMs();
    this.#known.set(key, { value, untilMs: nowMs + forMs });
    for (const [oldest, { untilMs }] of this.#known) {
      if (untilMs > nowMs && this.#known.size <= this.#most) return;
      this.#known.delete(oldest);
    }
  }
}
