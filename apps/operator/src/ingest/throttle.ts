import { type Rate, TokenBucket } from '@coxswain/units';

/** How long a connection must wait before its next frame is dealt with, by number and by size of its frames. Its rates may change. */
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

  /** Takes a frame into account; answers the milliseconds to wait. */
  take(bytes: number): number {
    const nowMs = this.#clock.monotonicMs();
    return Math.max(this.#messages.borrow(nowMs), this.#kilobytes.borrow(nowMs, bytes / 1024));
  }
}
