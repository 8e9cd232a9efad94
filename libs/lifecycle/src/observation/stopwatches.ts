/**
 * How long what each decision named in `timed` has lasted, for every job that this process looks at. Times are milliseconds of a clock
 * that never steps, given with each call.
 */
export class Stopwatches {
  readonly #startedMs = new Map<string, ReadonlyMap<string, number>>();

  /** What the job's next look is told: how long each thing has lasted. */
  elapsed(job: string, nowMs: number): ReadonlyMap<string, number> {
    return new Map([...(this.#startedMs.get(job) ?? [])].map(([key, startedMs]) => [key, nowMs - startedMs]));
  }

  /** A decision was made: what it names goes on or begins, everything else is over. */
  keep(job: string, timed: readonly string[], nowMs: number): void {
    if (timed.length === 0) return this.forget(job);
    const before = this.#startedMs.get(job);
    this.#startedMs.set(job, new Map(timed.map((key) => [key, before?.get(key) ?? nowMs])));
  }

  forget(job: string): void {
    this.#startedMs.delete(job);
  }

  /** Jobs of which something lasts; for tests of memory. */
  get size(): number {
    return this.#startedMs.size;
  }
}
