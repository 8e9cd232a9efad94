import type { ObservedProgress } from '@coxswain/lifecycle';
import { isLater, toProgress, type StepsSoFar } from '../ingest/progress-tracker.ts';

/** Progress of each job as of the last digest. */
export class ProgressBoard {
  readonly #known = new Map<string, StepsSoFar>();
  /** When the newest step of each job became known, in ms of a monotonic clock. */
  readonly #steppedAtMs = new Map<string, number>();

  /** Takes over progress and returns whether it is news: a restarted ingest thread may know less than the previous one. */
  take(steps: StepsSoFar, nowMs: number): boolean {
    const known = this.#known.get(steps.jobUid);
    if (known !== undefined && !isLater(steps, known) && (isLater(known, steps) || known.step > steps.step))
      return false;
    if (known?.step !== steps.step || isLater(steps, known)) this.#steppedAtMs.set(steps.jobUid, nowMs);
    this.#known.set(steps.jobUid, steps);
    return true;
  }

  /** Progress of a job for its status; undefined before the first step. */
  progressOf(jobUid: string, nowMs: number, totalSteps?: number): ObservedProgress | undefined {
    const known = this.#known.get(jobUid);
    const progress = known === undefined ? undefined : toProgress(known, totalSteps);
    const atMs = this.#steppedAtMs.get(jobUid);
    return progress === undefined || atMs === undefined ? progress : { ...progress, ageMs: nowMs - atMs };
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#known.delete(jobUid);
    this.#steppedAtMs.delete(jobUid);
  }
}
