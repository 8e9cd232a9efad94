import { isFinished, type TrainingJob } from '@coxswain/api-types';
import type { CacheChange, Clock, KubeObject } from '@coxswain/kube';

/** Time in which the last reports of a job arrive. Later ones are refused, because the attempt is over. */
const LAST_REPORTS_MS = 60_000;

/** Calls back once for each job, a minute after it was finished. A job that is deleted before is none of them. */
export class FinishedJobs {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #onFinished: (jobUid: string) => void;
  readonly #waiting = new Map<string, () => void>();

  constructor(parts: { readonly clock: Pick<Clock, 'setTimer'>; readonly onFinished: (jobUid: string) => void }) {
    this.#clock = parts.clock;
    this.#onFinished = parts.onFinished;
  }

  /** Takes a change of the cache into account. Jobs that were finished before the first list never reported here. */
  observe({ kind, object, previous }: CacheChange<TrainingJob & KubeObject>): void {
    const { uid } = object.metadata;
    if (kind === 'deleted') this.#cancel(uid);
    if (kind !== 'updated' || !isFinished(object) || isFinished(previous)) return;
    this.#cancel(uid);
    const cancel = this.#clock.setTimer(LAST_REPORTS_MS, () => {
      this.#waiting.delete(uid);
      this.#onFinished(uid);
    });
    this.#waiting.set(uid, cancel);
  }

  stop(): void {
    for (const uid of [...this.#waiting.keys()]) this.#cancel(uid);
  }

  #cancel(uid: string): void {
    this.#waiting.get(uid)?.();
    this.#waiting.delete(uid);
  }
}
