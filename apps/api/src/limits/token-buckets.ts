import { type Rate, TokenBucket } from '@coxswain/units';

/** Below, buckets are not worth looking through. */
const LEAST_KEPT = 64;

/** A token bucket for each of many parties. A full bucket says no more than an absent one, so full ones are dropped: the parties that are kept are those that asked lately. */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #buckets = new Map<string, TokenBucket>();
  #dropAtSize = LEAST_KEPT;

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Parties that are kept. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Tokens that are missing from the bucket of a party. */
  used(id: string, nowMs: number): number {
    return this.#buckets.get(id)?.used(nowMs) ?? 0;
  }

  /** Milliseconds until the party has so many; 0: they were taken. */
  take(id: string, nowMs: number, times = 1): number {
    return this.#of(id, nowMs).take(nowMs, times);
  }

  /** Takes so many, also if the party has fewer. */
  borrow(id: string, nowMs: number, times: number): void {
    this.#of(id, nowMs).borrow(nowMs, times);
  }

  /** Milliseconds until the party is out of debt. Keeps no bucket. */
  debtMs(id: string, nowMs: number): number {
    return this.#buckets.get(id)?.take(nowMs, 0) ?? 0;
  }

  #of(id: string, nowMs: number): TokenBucket {
    const known = this.#buckets.get(id);
    if (known !== undefined) return known;
    if (this.#buckets.size >= this.#dropAtSize) this.#dropFull(nowMs);
    const bucket = new TokenBucket(this.#rate, nowMs);
    this.#buckets.set(id, bucket);
    return bucket;
  }

  /** Again when there are twice as many as are left, so that each new party pays for two at most. */
  #dropFull(nowMs: number): void {
    for (const [id, bucket] of this.#buckets) if (bucket.used(nowMs) === 0) this.#buckets.delete(id);
    this.#dropAtSize = Math.max(LEAST_KEPT, 2 * this.#buckets.size);
  }
}
