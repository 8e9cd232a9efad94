import type { NewestEpoch } from '../ingest/ingest-messages.ts';

/** Which epoch of each job counts, for the jobs whose launchers report; told where it changed. */
export class NewestEpochs {
  readonly #look: (jobUid: string) => Omit<NewestEpoch, 'jobUid'>;
  readonly #told = new Map<string, NewestEpoch>();

  constructor(look: (jobUid: string) => Omit<NewestEpoch, 'jobUid'>) {
    this.#look = look;
  }

  /** From now on changes of that job are told. */
  follow(jobUid: string): NewestEpoch {
    const newest = { jobUid, ...this.#look(jobUid) };
    this.#told.set(jobUid, newest);
    return newest;
  }

  /** What is no longer as it was told. A job that is gone is told of once more, and then no longer followed. */
  changes(): readonly NewestEpoch[] {
    const changed = [...this.#told.values()].flatMap((told) => {
      const newest = { jobUid: told.jobUid, ...this.#look(told.jobUid) };
      const isSame = newest.epoch === told.epoch && newest.incarnation === told.incarnation;
      const isAsked = newest.saveRequest !== told.saveRequest;
      return isSame && newest.isFenced === told.isFenced && !isAsked ? [] : [newest];
    });
    for (const newest of changed) {
      if (newest.epoch === undefined) this.#told.delete(newest.jobUid);
      else this.#told.set(newest.jobUid, newest);
    }
    return changed;
  }

  /** Nobody remembers what was told. */
  reset(): void {
    this.#told.clear();
  }
}
