import type { Attempt } from '@coxswain/api-types';

/**
 * Whether the recorded attempt failed in a way that leaves no whole gang: nothing of it is to be saved or believed any more, and its
 * launchers are refused. An evicted gang is asked to stop in good order, so it may still save together.
 */
export function isBroken(attempt: Pick<Attempt, 'outcome' | 'reason'>): boolean {
  return attempt.outcome === 'Failed' && attempt.reason !== 'Evicted';
}

/**
 * Whether nothing that a launcher says of the recorded attempt counts any more: it is broken, or it is over and did not succeed. A pod that was given
 * up because it would not end may still speak then.
 */
export function isFenced(attempt: Pick<Attempt, 'outcome' | 'reason' | 'stage'>): boolean {
  return isBroken(attempt) || (attempt.stage === 'Ended' && attempt.outcome !== 'Succeeded');
}
