import type { LauncherState, RankAssignment } from '@coxswain/api-types';

/** Keeps which incarnation of the ranks runs in this pod, or ran last. */
export class IncarnationTracker {
  #assignment: RankAssignment | undefined;
  #latestIncarnation = 0;
  #state: LauncherState = 'waiting';

  /** The assignment whose ranks run or ran last; undefined before the first. */
  get assignment(): RankAssignment | undefined {
    return this.#assignment;
  }

  /** The latest incarnation that this launcher started or skipped; 0 before the first. */
  get latestIncarnation(): number {
    return this.#latestIncarnation;
  }

  /** The incarnation whose ranks run; undefined if no ranks run. */
  get running(): number | undefined {
    return this.#state === 'running' ? this.#assignment?.incarnation : undefined;
  }

  /** State and incarnation as every report carries them. The incarnation is absent before the first. */
  get status(): { readonly state: LauncherState; readonly incarnation?: number } {
    return { state: this.#state, ...(this.#latestIncarnation === 0 ? {} : { incarnation: this.#latestIncarnation }) };
  }

  /** The ranks of `assignment` start. */
  begin(assignment: RankAssignment): void {
    this.#assignment = assignment;
    this.#latestIncarnation = assignment.incarnation;
    this.#state = 'running';
  }

  /** Every process of the incarnation is gone. */
  reap(): void {
    this.#state = 'reaped';
  }

  /** The operator ended `incarnation` before this launcher started it. Its ranks never start here. */
  skip(incarnation: number): void {
    this.#latestIncarnation = incarnation;
    this.#state = 'reaped';
  }
}
