import type { ObservedProgress } from '@coxswain/lifecycle';
import { isLater, toProgress, type StepsSoFar } from '../ingest/progress-tracker.ts';

/** Progress of each job as of the last digest. */
export class ProgressBoard {
  readonly #known = new Map<string, StepsSoFar>();

  /** Takes over progress and returns whether it is news: a restarted ingest thread may know less than the previous one. */
  take(steps: StepsSoFar): boolean {
    const known = this.#known.get(steps.jobUid);
    if (known !== undefined && !isLater(steps, known) && (isLater(known, steps) || known.step > steps.step))
      return false;
    this.#known.set(steps.jobUid, steps);
    return true;
  }

  /** Progress of a job for its status; undefined before the first step. */
  progressOf(jobUid: string, totalSteps?: number): ObservedProgress | undefined {
    const known = this.#known.get(jobUid);
    return known === undefined ? undefined : toProgress(known, totalSteps);
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#known.delete(jobUid);
  }
}
