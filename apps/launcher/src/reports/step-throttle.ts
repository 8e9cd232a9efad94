import { TokenBucket } from '@coxswain/units';

/** Default number of steps reported per second. */
const STEPS_PER_SECOND = 20;
/** Steps reported at once after a pause, in seconds of the rate. */
const BURST_SECONDS = 2;

/**
 * Limits the rate of reported steps. Above the rate, the newest step waits and replaces the one that waited before. The series
 * then has a gap, but never lags behind the training.
 */
export class StepThrottle<T> {
  #stepsPerSecond = STEPS_PER_SECOND;
  readonly #bucket: TokenBucket;
  #waiting: T | undefined;
  #skipped = 0;

  constructor(nowMs: number) {
    const rate = () => ({
      perSecond: this.#stepsPerSecond,
      burst: Math.max(1, BURST_SECONDS * this.#stepsPerSecond),
    });
    this.#bucket = new TokenBucket(rate, nowMs);
  }

  /** Steps that were replaced by newer ones. */
  get skipped(): number {
    return this.#skipped;
  }

  /** Sets the rate from now on. */
  setRate(stepsPerSecond: number): void {
    this.#stepsPerSecond = stepsPerSecond;
  }

  /** Offers a step; returns the step that may be reported now, if any. */
  offer(step: T, nowMs: number): T | undefined {
    if (this.#waiting !== undefined) this.#skipped += 1;
    this.#waiting = step;
    return this.poll(nowMs);
  }

  /** The step that waited, if its turn has come. */
  poll(nowMs: number): T | undefined {
    return this.#waiting === undefined || this.#bucket.take(nowMs) > 0 ? undefined : this.flush();
  }

  /** The waiting step, whatever the rate: no more steps follow. */
  flush(): T | undefined {
    const step = this.#waiting;
    this.#waiting = undefined;
    return step;
  }
}
