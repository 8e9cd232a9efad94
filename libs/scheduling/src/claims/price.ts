/** What does it cost that a gang stops and starts again? */
import type { ClaimRules } from './claim-rules.ts';
import type { RunningGang } from './claim.ts';

/** Training of each GPU that is lost if the gang stops now. */
export function lostSeconds({ savesWhenAsked, unsavedSeconds }: RunningGang): number {
  return savesWhenAsked ? 0 : unsavedSeconds;
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
