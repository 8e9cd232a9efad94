/** A rate with a burst above it. */
export interface Rate {
  readonly ratePerSecond: number;
  readonly burst: number;
}

/** How long a connection must wait before its next frame is dealt with, by number and by size of its frames. Its rates may change. */
export class Throttle {
  readonly #messages: Bucket;
  readonly #kilobytes: Bucket;

  constructor(options: {
    readonly messages: () => Rate;
    readonly kilobytes: () => Rate;
    readonly clock: { monotonicMs(): number };
  }) {
    this.#messages = new Bucket(options.messages, options.clock);
    this.#kilobytes = new Bucket(options.kilobytes, options.clock);
  }

  /** Takes a frame into account; answers the milliseconds to wait. */
  take(bytes: number): number {
    return Math.max(this.#messages.take(1), this.#kilobytes.take(bytes / 1024));
  }
}

class Bucket {
  readonly #rate: () => Rate;
  readonly #clock: { monotonicMs(): number };
  #tokens: number;
  #updatedAtMs: number;

  constructor(rate: () => Rate, clock: { monotonicMs(): number }) {
    this.#rate = rate;
    this.#clock = clock;
    this.#tokens = rate().burst;
    this.#updatedAtMs = clock.monotonicMs();
  }

  take(tokens: number): number {
    const nowMs = this.#clock.monotonicMs();
    const { ratePerSecond, burst } = this.#rate();
    const earned = ((nowMs - this.#updatedAtMs) / 1000) * ratePerSecond;
    this.#tokens = Math.min(burst, this.#tokens + earned) - tokens;
    this.#updatedAtMs = nowMs;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / ratePerSecond) * 1000;
  }
}
