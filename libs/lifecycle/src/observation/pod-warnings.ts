/** What was read of the Events of pods that start silently? */

/** The newest warning of the kubelet about a pod, as it was read. */
export interface PodWarning {
  readonly podUid: string;
  /** `FailedMount: MountVolume.SetUp failed for volume "x" : secret "y" not found`; undefined: there is none. */
  readonly message: string | undefined;
  readonly ageMs: number;
}

/** The last warning that was read of each job. Losing this memory is harmless. Times are monotonic milliseconds. */
export class PodWarnings {
  readonly #ofJob = new Map<
    string,
    { readonly podUid: string; readonly message: string | undefined; readonly atMs: number }
  >();

  /** The job's last warning; undefined: none was read. */
  of(job: string, nowMs: number): PodWarning | undefined {
    const known = this.#ofJob.get(job);
    return known === undefined
      ? undefined
      : { podUid: known.podUid, message: known.message, ageMs: nowMs - known.atMs };
  }

  /** Records a read. */
  note(
    job: string,
    read: { readonly podUid: string; readonly message: string | undefined; readonly nowMs: number },
  ): void {
    const { podUid, message, nowMs } = read;
    this.#ofJob.set(job, { podUid, message, atMs: nowMs });
  }

  /** Forgets a job that was deleted. */
  forget(job: string): void {
    this.#ofJob.delete(job);
  }

  /** Number of remembered jobs; for tests of memory. */
  get size(): number {
    return this.#ofJob.size;
  }
}
