import type { NewestEpoch } from '../ingest/ingest-messages.ts';

/** Which epoch of each job counts, for the jobs whose launchers report; told where it changed. */
export class NewestEpochs {
  readonly #read: (jobUid: string) => Omit<NewestEpoch, 'jobUid'>;
  readonly #lastSent = new Map<string, NewestEpoch>();

  constructor(read: (jobUid: string) => Omit<NewestEpoch, 'jobUid'>) {
    this.#read = read;
  }

  /** From now on changes of that job are told. */
  follow(jobUid: string): NewestEpoch {
    const newest = { jobUid, ...this.#read(jobUid) };
    this.#lastSent.set(jobUid, newest);
    return newest;
  }

  /** What is no longer as it was told. A job that is gone is told of once more, and then no longer followed. */
  changes(): readonly NewestEpoch[] {
    const changed = [...this.#lastSent.values()].flatMap((sent) => {
      const newest = { jobUid: sent.jobUid, ...this.#read(sent.jobUid) };
      const isSame = newest.epoch === sent.epoch && newest.incarnation === sent.incarnation;
      const isAsked = newest.saveRequest !== sent.saveRequest;
      return isSame && newest.isFenced === sent.isFenced && !isAsked ? [] : [newest];
    });
    for (const newest of changed) {
      if (newest.epoch === undefined) this.#lastSent.delete(newest.jobUid);
      else this.#lastSent.set(newest.jobUid, newest);
    }
    return changed;
  }

  /** Nobody remembers what was told. */
  reset(): void {
    this.#lastSent.clear();
  }
}
