/** What does it cost that a gang stops and starts again? */
import { worldSize } from '@coxswain/layout';
import type { ClaimRules } from './claim-rules.ts';
import type { ClaimQuestion, RunningGang } from './claim.ts';

/** Training of each GPU that is lost if the gang stops now. */
export function lostSeconds({ savesWhenAsked, waitsForSave, unsavedSeconds }: RunningGang): number {
  return savesWhenAsked || waitsForSave !== undefined ? 0 : unsavedSeconds;
}

/**
 * The gang, which is to stop after its next own save if its engine does not save on request, that save is near, and the wait costs the claimant less GPU
 * time than the gang would lose.
 */
export function withNextSave(
  gang: RunningGang,
  { claimant, rules }: Pick<ClaimQuestion, 'claimant' | 'rules'>,
): RunningGang {
  const { savesWhenAsked, nextSave, unsavedSeconds } = gang;
  if (savesWhenAsked || nextSave === undefined || nextSave.seconds > rules.saveSeconds) return gang;
  const waited = worldSize(claimant.request.layout) * nextSave.seconds;
  return waited < gpusOfGang(gang) * unsavedSeconds ? { ...gang, waitsForSave: nextSave } : gang;
}

/**
 * GPU-seconds of the save, the next start and what is lost. Each time that the gang made room in the last day doubles them, so that the same gang is
 * not stopped again and again.
 */
export function priceOf(gang: RunningGang): number {
  const seconds = gang.stallSeconds + gang.restartSeconds + lostSeconds(gang);
  return gpusOfGang(gang) * seconds * 2 ** gang.madeRoomFor.length;
}

/** GPUs of all nodes. */
export function gpusOfGang({ gpus }: Pick<RunningGang, 'gpus'>): number {
  return [...gpus.values()].reduce((sum, count) => sum + count, 0);
}

/** For how long after its start the gang does not make room. */
export function protectedSeconds({ stallSeconds, restartSeconds }: RunningGang, rules: ClaimRules): number {
  return Math.max(rules.leastProtectedSeconds, rules.protectedStarts * (stallSeconds + restartSeconds));
}

/** From the request to stop until the pods of the gang are killed. */
export function deadlineSeconds({ graceSeconds }: RunningGang, rules: ClaimRules): number {
  return Math.min(graceSeconds, rules.longestDeadlineSeconds);
}
