import { type Rate, TokenBucket } from '@coxswain/units';

/** Delays the frames of a connection to keep within two rates: number and size of frames. The rates may change. */
export class Throttle {
  readonly #messages: TokenBucket;
  readonly #kilobytes: TokenBucket;
  readonly #clock: { monotonicMs(): number };

  constructor(options: {
    readonly messages: () => Rate;
    readonly kilobytes: () => Rate;
    readonly clock: { monotonicMs(): number };
  }) {
    this.#clock = options.clock;
    this.#messages = new TokenBucket(options.messages, options.clock.monotonicMs());
    this.#kilobytes = new TokenBucket(options.kilobytes, options.clock.monotonicMs());
  }

  /** Counts a frame and returns the milliseconds to wait before handling it. */
  take(bytes: number): number {
    const nowMs = this.#clock.monotonicMs();
    return Math.max(this.#messages.borrow(nowMs), this.#kilobytes.borrow(nowMs, bytes / 1024));
  }
}
