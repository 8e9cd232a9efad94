import type { Clock } from './clock.ts';

/** A rate with a burst: `take` says how long the caller must wait for its turn. */
export class TokenBucket {
  readonly #ratePerSecond: number;
  readonly #burst: number;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #tokens: number;
  #updatedAtMs: number;

  constructor(options: { ratePerSecond: number; burst: number; clock: Pick<Clock, 'monotonicMs'> }) {
    this.#ratePerSecond = options.ratePerSecond;
    this.#burst = options.burst;
    this.#clock = options.clock;
    this.#tokens = options.burst;
    this.#updatedAtMs = options.clock.monotonicMs();
  }

  /** Takes one token, on credit if need be, and returns the milliseconds to wait until it would have been there. */
  take(): number {
    const nowMs = this.#clock.monotonicMs();
    const earned = ((nowMs - this.#updatedAtMs) / 1000) * this.#ratePerSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + earned) - 1;
    this.#updatedAtMs = nowMs;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#ratePerSecond) * 1000;
  }
}
