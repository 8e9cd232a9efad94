import type { ObservedProgress } from '@coxswain/lifecycle';
import { isLater, toProgress, type StepsSoFar } from '../ingest/progress-tracker.ts';

/** How far each job is, as the thread of the reports told last. */
export class ProgressBoard {
  readonly #known = new Map<string, StepsSoFar>();

  /** Answers whether it is news: a thread that was started anew may know less than the one before it. */
  take(steps: StepsSoFar): boolean {
    const known = this.#known.get(steps.jobUid);
    if (known !== undefined && !isLater(steps, known) && (isLater(known, steps) || known.step > steps.step))
      return false;
    this.#known.set(steps.jobUid, steps);
    return true;
  }

  progressOf(jobUid: string, totalSteps?: number): ObservedProgress | undefined {
    const known = this.#known.get(jobUid);
    return known === undefined ? undefined : toProgress(known, totalSteps);
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#known.delete(jobUid);
  }
}
