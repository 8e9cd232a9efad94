import type { NewestEpoch } from '../ingest/ingest-messages.ts';

/** The current attempt of each job whose launchers report, and which of them changed since they were last sent. */
export class NewestEpochs {
  readonly #read: (jobUid: string) => Omit<NewestEpoch, 'jobUid'>;
  readonly #lastSent = new Map<string, NewestEpoch>();

  constructor(read: (jobUid: string) => Omit<NewestEpoch, 'jobUid'>) {
    this.#read = read;
  }

  /** Starts following a job and returns its current attempt. */
  follow(jobUid: string): NewestEpoch {
    const newest = { jobUid, ...this.#read(jobUid) };
    this.#lastSent.set(jobUid, newest);
    return newest;
  }

  /** Epochs that differ from what was last sent. A deleted job is included once and then no longer followed. */
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

  /** Stops following a job that is finished or deleted. */
  forget(jobUid: string): void {
    this.#lastSent.delete(jobUid);
  }

  /** Stops following all jobs, because a restarted thread has no state. */
  reset(): void {
    this.#lastSent.clear();
  }
}
