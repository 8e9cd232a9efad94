/** So many a second for ever, and so many at once after a rest. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** How much may be taken now, and when is there more? Full at first. Times are milliseconds of any clock; one that was set back gives nothing and takes nothing. */
export class TokenBucket {
  readonly #rate: () => Rate;
  #tokens: number;
  #atMs: number;

  /** A rate that may change is asked for each time. */
  constructor(rate: Rate | (() => Rate), nowMs: number) {
    this.#rate = typeof rate === 'function' ? rate : () => rate;
    this.#tokens = this.#rate().burst;
    this.#atMs = nowMs;
  }

  /** What of the burst is not back yet. */
  used(nowMs: number): number {
    return this.#fill(nowMs).burst - this.#tokens;
  }

  /** Takes `cost` tokens and gives 0, or takes none and gives the milliseconds after which there are as many, or the bucket is full. */
  take(nowMs: number, cost = 1): number {
    const { perSecond, burst } = this.#fill(nowMs);
    const wanted = Math.min(cost, burst);
    if (this.#tokens < wanted) return ((wanted - this.#tokens) / perSecond) * 1_000;
    this.#tokens -= wanted;
    return 0;
  }

  /** Takes `cost` tokens, on credit if need be, and gives the milliseconds after which they would have been there: each caller gets a turn of its own. */
  borrow(nowMs: number, cost = 1): number {
    const { perSecond } = this.#fill(nowMs);
    this.#tokens -= cost;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / perSecond) * 1_000;
  }

  #fill(nowMs: number): Rate {
    const rate = this.#rate();
    const earned = (Math.max(0, nowMs - this.#atMs) / 1_000) * rate.perSecond;
    this.#tokens = Math.min(rate.burst, this.#tokens + earned);
    this.#atMs = nowMs;
    return rate;
  }
}
