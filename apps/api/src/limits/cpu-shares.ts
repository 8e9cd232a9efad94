import { TokenBucket } from '@coxswain/units';

/** A share may be used for so long at once, after a rest. */
const BURST_SECONDS = 10;

/**
 * Processor time of the event loop that each of several parties may use. Time is charged after it was used, so a bucket can be in debt. The debt is at
 * most one burst: a flood that cannot be refused, such as one of wrong tokens, holds others of its party up for ten seconds after its end.
 */
export class CpuShares {
  readonly #msPerSecond: number;
  readonly #buckets = new Map<string, TokenBucket>();

  /** 0: no limit. */
  constructor(msPerSecond: number) {
    this.#msPerSecond = msPerSecond;
  }

  get msPerSecond(): number {
    return this.#msPerSecond;
  }

  /** Parties that are kept: those whose bucket is not full. */
  get size(): number {
    return this.#buckets.size;
  }

  charge(id: string, usedMs: number, nowMs: number): void {
    if (this.#msPerSecond === 0) return;
    const known = this.#buckets.get(id);
    const burst = this.#msPerSecond * BURST_SECONDS;
    const bucket = known ?? new TokenBucket({ perSecond: this.#msPerSecond, burst }, nowMs);
    if (known === undefined) this.#buckets.set(id, bucket);
    bucket.borrow(nowMs, Math.min(usedMs, 2 * burst - bucket.used(nowMs)));
  }

  /** Until the party is out of debt; 0: it may go on. */
  waitMs(id: string, nowMs: number): number {
    const bucket = this.#buckets.get(id);
    if (bucket === undefined) return 0;
    if (bucket.used(nowMs) === 0) this.#buckets.delete(id);
    return bucket.take(nowMs, 0);
  }
}
