import type { HealthWatch } from './health-watch.ts';
import type { NewestEpoch } from './ingest-messages.ts';
import type { ProgressTracker, StepsSoFar } from './progress-tracker.ts';
import type { StackRequests } from './stack-requests.ts';

/** What the ingest thread keeps of each job that reports. It drops what belongs to an attempt when the attempt is over, and the rest when the job is gone. */
export class JobTelemetry {
  readonly #health: Pick<HealthWatch, 'end' | 'forget'>;
  readonly #progress: Pick<ProgressTracker, 'takeChanged' | 'end' | 'forget'>;
  readonly #stacks: Pick<StackRequests, 'forget'>;
  /** Attempts that are over and whose last steps were not taken yet, by job. */
  readonly #over = new Map<string, number>();

  constructor(parts: {
    readonly health: Pick<HealthWatch, 'end' | 'forget'>;
    readonly progress: Pick<ProgressTracker, 'takeChanged' | 'end' | 'forget'>;
    readonly stacks: Pick<StackRequests, 'forget'>;
  }) {
    this.#health = parts.health;
    this.#progress = parts.progress;
    this.#stacks = parts.stacks;
  }

  /** Attempts that wait to be dropped; for tests of memory. */
  get size(): number {
    return this.#over.size;
  }

  /** Takes changes of attempts into account. The reports of an attempt that is over are refused from here on. */
  receiveEpochs(jobs: readonly NewestEpoch[]): void {
    for (const { jobUid, epoch, isFenced } of jobs) {
      if (epoch === undefined) this.forget(jobUid);
      if (epoch === undefined || !isFenced) continue;
      this.#health.end(jobUid, epoch);
      this.#stacks.forget(jobUid);
      this.#over.set(jobUid, epoch);
    }
  }

  /** Jobs with new steps since the previous call. The last steps of an attempt are among them before it is dropped. */
  takeProgress(): readonly StepsSoFar[] {
    const changed = this.#progress.takeChanged();
    for (const [jobUid, epoch] of this.#over) this.#progress.end(jobUid, epoch);
    this.#over.clear();
    return changed;
  }

  /** Drops everything about a job that is finished or deleted. */
  forget(jobUid: string): void {
    this.#over.delete(jobUid);
    this.#health.forget(jobUid);
    this.#progress.forget(jobUid);
    this.#stacks.forget(jobUid);
  }
}
