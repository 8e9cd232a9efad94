/** So many a second for ever, and so many at once after a rest. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** How much may be taken now, and when is there more? Full at first. */
export class TokenBucket {
  readonly #rate: Rate;
  #tokens: number;
  #atMs: number;

  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#atMs = nowMs;
  }

  /** What of the burst is not back yet. */
  used(nowMs: number): number {
    this.#fill(nowMs);
    return this.#rate.burst - this.#tokens;
  }

  /** Takes `cost` tokens and gives 0, or takes none and gives the seconds after which there are as many, or the bucket is full. */
  take(nowMs: number, cost = 1): number {
    this.#fill(nowMs);
    const { perSecond, burst } = this.#rate;
    const wanted = Math.min(cost, burst);
    if (this.#tokens < wanted) return (wanted - this.#tokens) / perSecond;
    this.#tokens -= wanted;
    return 0;
  }

  #fill(nowMs: number): void {
    const { perSecond, burst } = this.#rate;
    // A clock that was set back gives nothing and takes nothing.
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, nowMs - this.#atMs) / 1000) * perSecond);
    this.#atMs = nowMs;
  }
}
