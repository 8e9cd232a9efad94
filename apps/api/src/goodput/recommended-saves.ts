/** Which interval between saves does a job get recommended? */
import type { Attempt, RecommendedSaves } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { bestSaves } from '@coxswain/lifecycle';

/** From its attempts, oldest first; null: no save was measured. */
export function recommendedSaves(attempts: readonly Attempt[]): RecommendedSaves | null {
  const last = attempts.at(-1);
  const best = last === undefined ? undefined : bestSaves(attempts, worldSize(last.layout));
  if (best === undefined) return null;
  const { everySteps, stepMs, stallMs, saves, meanTimeToFailureMs, failures } = best;
  return {
    everySteps,
    everySeconds: (everySteps * stepMs) / 1000,
    secondsPerSave: stallMs / 1000,
    saves,
    secondsToFailure: meanTimeToFailureMs / 1000,
    failures,
  };
}
