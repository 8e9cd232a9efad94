/** Steps told per second in the long run. */
export const STEPS_PER_SECOND = 20;
/** Steps told at once after a pause. */
const BURST = 40;

/**
 * Lets {@link STEPS_PER_SECOND} steps a second through. When more come, the newest waits for its turn and replaces the one that waited before: the
 * series then shows a gap, but never lags behind the training.
 */
export class StepThrottle<T> {
  #tokens = BURST;
  #countedAtMs: number;
  #waiting: T | undefined;
  #skipped = 0;

  constructor(nowMs: number) {
    this.#countedAtMs = nowMs;
  }

  /** Steps that were replaced by newer ones. */
  get skipped(): number {
    return this.#skipped;
  }

  /** The step that may be told now, if any. */
  offer(step: T, nowMs: number): T | undefined {
    if (this.#waiting !== undefined) this.#skipped += 1;
    this.#waiting = step;
    return this.poll(nowMs);
  }

  /** The step that waited, if its turn has come. */
  poll(nowMs: number): T | undefined {
    this.#tokens = Math.min(BURST, this.#tokens + ((nowMs - this.#countedAtMs) / 1000) * STEPS_PER_SECOND);
    this.#countedAtMs = nowMs;
    if (this.#tokens < 1 || this.#waiting === undefined) return undefined;
    this.#tokens -= 1;
    return this.flush();
  }

  /** The step that waits, turn or not: for the end. */
  flush(): T | undefined {
    const step = this.#waiting;
    this.#waiting = undefined;
    return step;
  }
}
