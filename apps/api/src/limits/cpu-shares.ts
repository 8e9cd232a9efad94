import { TokenBuckets } from './token-buckets.ts';

/** A share may be used for so long at once, after a rest. */
const BURST_SECONDS = 10;

/**
 * Processor time of the event loop that each of several parties may use. Time is charged after it was used, so a bucket can be in debt. The debt is at
 * most one burst: a flood that cannot be refused, such as one of wrong tokens, holds others of its party up for ten seconds after its end.
 */
export class CpuShares {
  readonly #msPerSecond: number;
  readonly #buckets: TokenBuckets;

  /** 0: no limit. */
  constructor(msPerSecond: number) {
    this.#msPerSecond = msPerSecond;
    this.#buckets = new TokenBuckets({ perSecond: msPerSecond, burst: this.burstMs });
  }

  get msPerSecond(): number {
    return this.#msPerSecond;
  }

  /** What a rested party may use at once. */
  get burstMs(): number {
    return this.#msPerSecond * BURST_SECONDS;
  }

  /** What the party has used and not earned again, in ms. */
  usedMs(id: string, nowMs: number): number {
    return this.#buckets.used(id, nowMs);
  }

  charge(id: string, usedMs: number, nowMs: number): void {
    if (this.#msPerSecond === 0) return;
    this.#buckets.borrow(id, nowMs, Math.min(usedMs, 2 * this.burstMs - this.#buckets.used(id, nowMs)));
  }

  /** Until the party is out of debt; 0: it may go on. */
  waitMs(id: string, nowMs: number): number {
    return this.#buckets.debtMs(id, nowMs);
  }
}
