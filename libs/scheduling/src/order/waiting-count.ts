import type { SchedulerView } from '../scheduler-view.ts';
import { isWaitingForCapacity } from './waiting-jobs.ts';

/** A count is used for so long: each passes over all jobs. */
const VALID_MS = 10_000;

/** How many jobs wait for GPUs. */
export class WaitingCount {
  readonly #view: Pick<SchedulerView, 'jobs' | 'monotonicMs'>;
  #last: { readonly atMs: number; readonly jobs: number } | undefined;

  constructor(view: Pick<SchedulerView, 'jobs' | 'monotonicMs'>) {
    this.#view = view;
  }

  /** At most ten seconds old. */
  get jobs(): number {
    const nowMs = this.#view.monotonicMs();
    if (this.#last === undefined || nowMs - this.#last.atMs >= VALID_MS)
      this.#last = { atMs: nowMs, jobs: this.#view.jobs().filter(isWaitingForCapacity).length };
    return this.#last.jobs;
  }
}
