import { TokenBucket } from '@coxswain/units';

/** Steps told per second in the long run, unless the operator says otherwise. */
const STEPS_PER_SECOND = 20;
/** Steps told at once after a pause: those of so many seconds. */
const BURST_SECONDS = 2;

/**
 * Lets so many steps a second through. When more come, the newest waits for its turn and replaces the one that waited before: the
 * series then shows a gap, but never lags behind the training.
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

  /** From now on so many. */
  setRate(stepsPerSecond: number): void {
    this.#stepsPerSecond = stepsPerSecond;
  }

  /** The step that may be told now, if any. */
  offer(step: T, nowMs: number): T | undefined {
    if (this.#waiting !== undefined) this.#skipped += 1;
    this.#waiting = step;
    return this.poll(nowMs);
  }

  /** The step that waited, if its turn has come. */
  poll(nowMs: number): T | undefined {
    return this.#waiting === undefined || this.#bucket.take(nowMs) > 0 ? undefined : this.flush();
  }

  /** The step that waits, turn or not: for the end. */
  flush(): T | undefined {
    const step = this.#waiting;
    this.#waiting = undefined;
    return step;
  }
}
