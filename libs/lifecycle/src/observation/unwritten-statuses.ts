/** For how long the API server may fail at the status of a job before GPUs are released without a record. */
export const UNWRITTEN_AFTER_MS = 300_000;

/**
 * Jobs whose status the API server does not accept, and since when. Losing this memory is harmless: a new leader waits again. Times are monotonic
 * milliseconds.
 */
export class UnwrittenStatuses {
  readonly #sinceMs = new Map<string, number>();

  /** For how long no status of the job could be written; undefined: the last write succeeded, or there was none. */
  forMs(job: string, nowMs: number): number | undefined {
    const sinceMs = this.#sinceMs.get(job);
    return sinceMs === undefined ? undefined : nowMs - sinceMs;
  }

  /** Number of jobs without a recorded status for longer than {@link UNWRITTEN_AFTER_MS}. */
  count(nowMs: number): number {
    let count = 0;
    for (const sinceMs of this.#sinceMs.values()) if (nowMs - sinceMs >= UNWRITTEN_AFTER_MS) count += 1;
    return count;
  }

  /** Records a failed write. */
  note(job: string, nowMs: number): void {
    if (!this.#sinceMs.has(job)) this.#sinceMs.set(job, nowMs);
  }

  /** Records a successful write, or the end of the job. */
  forget(job: string): void {
    this.#sinceMs.delete(job);
  }

  /** Number of jobs with failed writes; for tests of memory. */
  get size(): number {
    return this.#sinceMs.size;
  }
}
