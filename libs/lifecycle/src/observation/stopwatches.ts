/** Measures how long the waits of each job have lasted. Times are milliseconds of a monotonic clock, which the caller passes. */
export class Stopwatches {
  readonly #startedMs = new Map<string, ReadonlyMap<string, number>>();

  /** How long each wait of the job has lasted, for its next observation. */
  elapsed(job: string, nowMs: number): ReadonlyMap<string, number> {
    return new Map([...(this.#startedMs.get(job) ?? [])].map(([key, startedMs]) => [key, nowMs - startedMs]));
  }

  /** Continues or starts the waits that a decision names, and ends all others of the job. */
  keep(job: string, timed: readonly string[], nowMs: number): void {
    if (timed.length === 0) return this.forget(job);
    const before = this.#startedMs.get(job);
    this.#startedMs.set(job, new Map(timed.map((key) => [key, before?.get(key) ?? nowMs])));
  }

  /** Ends all waits of the job. */
  forget(job: string): void {
    this.#startedMs.delete(job);
  }

  /** Number of jobs with waits; for tests of memory. */
  get size(): number {
    return this.#startedMs.size;
  }
}
