/** How long a step takes, for the time that is left of a job. One rule for operator, command line and dashboard. */

/** Step time of one run of the ranks, as far as it is known. */
export interface StepPace {
  readonly stepMs: number;
  /** Step times that it rests on. */
  readonly steps: number;
}

/** Weight of the newest step in the moving average. */
const SMOOTHING = 0.1;
/** A step counts as at most so many times the average: a save or a slow read of data is no new pace. */
const MOST_OF_AVERAGE = 2;

/**
 * The pace after one more step: a moving average in which one step changes the time that is left by at most a tenth. A job that becomes slower for good reaches its
 * new pace within some thirty steps. The first step of a run compiles and fills caches, so the second one replaces it.
 */
export function paceAfter(pace: StepPace | undefined, stepMs: number): StepPace {
  if (pace === undefined || pace.steps === 1) return { stepMs, steps: (pace?.steps ?? 0) + 1 };
  const counted = Math.min(stepMs, MOST_OF_AVERAGE * pace.stepMs);
  return { stepMs: pace.stepMs + SMOOTHING * (counted - pace.stepMs), steps: pace.steps + 1 };
}
