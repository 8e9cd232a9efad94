import type { Hearing } from '@coxswain/lifecycle';

/** A launcher that has reported within this time is heard. Three heartbeats. */
const HEARD_MS = 30_000;

/**
 * Time of the last contact with each pod's launcher, on a monotonic clock. Any message of the current attempt counts, because a launcher that sends one is
 * running; messages of failed or earlier attempts do not. A new leader starts without contacts.
 */
export class LauncherContacts {
  readonly #contactAtMs = new Map<string, { readonly epoch: number; readonly pods: Map<string, number> }>();

  /** Records a contact. */
  record(pod: { readonly jobUid: string; readonly epoch: number; readonly podUid: string }, nowMs: number): void {
    const known = this.#contactAtMs.get(pod.jobUid);
    if (known !== undefined && known.epoch >= pod.epoch) {
      if (known.epoch === pod.epoch) known.pods.set(pod.podUid, nowMs);
      return;
    }
    this.#contactAtMs.set(pod.jobUid, { epoch: pod.epoch, pods: new Map([[pod.podUid, nowMs]]) });
  }

  /** Milliseconds since the last contact with each pod of the job's newest epoch, by pod UID. */
  ofJob(jobUid: string, nowMs: number): ReadonlyMap<string, number> {
    const pods = this.#contactAtMs.get(jobUid)?.pods ?? new Map<string, number>();
    return new Map([...pods].map(([podUid, contactAtMs]) => [podUid, nowMs - contactAtMs]));
  }

  /** How many launchers are heard, of those that have reported about a gang that runs. */
  hearing(nowMs: number, isRunning: (jobUid: string, epoch: number) => boolean): Hearing {
    let [launchers, silent, silentGangs] = [0, 0, 0];
    for (const [jobUid, { epoch, pods }] of this.#contactAtMs) {
      if (!isRunning(jobUid, epoch)) continue;
      const ofGang = [...pods.values()].filter((contactAtMs) => nowMs - contactAtMs > HEARD_MS).length;
      launchers += pods.size;
      silent += ofGang;
      silentGangs += ofGang > 0 ? 1 : 0;
    }
    return { launchers, silent, silentGangs };
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#contactAtMs.delete(jobUid);
  }

  /** Number of jobs with contacts; for tests of memory. */
  get size(): number {
    return this.#contactAtMs.size;
  }
}
