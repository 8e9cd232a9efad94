/**
 * When each pod's launcher was last heard, by a clock that never steps. Anything that a launcher says of the epoch under way counts, since
 * whoever can speak runs; what is said in a broken or earlier epoch does not. A process that has just begun to lead knows nobody yet.
 */
export class LauncherContacts {
  readonly #contactAtMs = new Map<string, { readonly epoch: number; readonly pods: Map<string, number> }>();

  record(pod: { readonly jobUid: string; readonly epoch: number; readonly podUid: string }, nowMs: number): void {
    const known = this.#contactAtMs.get(pod.jobUid);
    if (known !== undefined && known.epoch >= pod.epoch) {
      if (known.epoch === pod.epoch) known.pods.set(pod.podUid, nowMs);
      return;
    }
    this.#contactAtMs.set(pod.jobUid, { epoch: pod.epoch, pods: new Map([[pod.podUid, nowMs]]) });
  }

  /** How long ago each pod of the job's newest epoch was heard, in milliseconds, by its UID. */
  ofJob(jobUid: string, nowMs: number): ReadonlyMap<string, number> {
    const pods = this.#contactAtMs.get(jobUid)?.pods ?? new Map<string, number>();
    return new Map([...pods].map(([podUid, contactAtMs]) => [podUid, nowMs - contactAtMs]));
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#contactAtMs.delete(jobUid);
  }

  /** Jobs of which a launcher is remembered; for tests of memory. */
  get size(): number {
    return this.#contactAtMs.size;
  }
}
