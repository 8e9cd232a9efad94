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
  #tokens = BURST_SECONDS * STEPS_PER_SECOND;
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

  /** From now on so many. */
  keepTo(stepsPerSecond: number): void {
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
    const most = Math.max(1, BURST_SECONDS * this.#stepsPerSecond);
    this.#tokens = Math.min(most, this.#tokens + ((nowMs - this.#countedAtMs) / 1000) * this.#stepsPerSecond);
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
