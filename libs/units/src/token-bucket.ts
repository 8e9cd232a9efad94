/** A rate limit: tokens per second, and the burst that a full bucket allows. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** A token bucket, full at first. Times are milliseconds of any clock; if the clock goes back, the bucket does not change. */
export class TokenBucket {
  readonly #rate: () => Rate;
  #tokens: number;
  #atMs: number;

  /** A rate that can change is given as a function. */
  constructor(rate: Rate | (() => Rate), nowMs: number) {
    this.#rate = typeof rate === 'function' ? rate : () => rate;
    this.#tokens = this.#rate().burst;
    this.#atMs = nowMs;
  }

  /** Tokens that are missing from a full bucket. */
  used(nowMs: number): number {
    return this.#fill(nowMs).burst - this.#tokens;
  }

  /** Takes `cost` tokens and returns 0; or takes none and returns the milliseconds until the bucket has `cost` tokens or is full. */
  take(nowMs: number, cost = 1): number {
    const { perSecond, burst } = this.#fill(nowMs);
    const wanted = Math.min(cost, burst);
    if (this.#tokens < wanted) return ((wanted - this.#tokens) / perSecond) * 1_000;
    this.#tokens -= wanted;
    return 0;
  }

  /** Takes `cost` tokens even if the bucket has fewer, and returns the milliseconds until they are available. Each caller gets its own turn. */
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
