import type { Attempt } from '@coxswain/api-types';

/**
 * Whether the recorded attempt failed in a way that breaks its gang. Nothing of a broken gang is saved or accepted any more, and its
 * launchers are refused. An evicted gang is not broken: it stops in order and may still save.
 */
export function isBroken(attempt: Pick<Attempt, 'outcome' | 'reason'>): boolean {
  return attempt.outcome === 'Failed' && attempt.reason !== 'Evicted';
}

/**
 * Whether reports of the attempt's launchers are rejected: the attempt is broken, or ended without success. A pod that was given up because
 * it did not end may still report then.
 */
export function isFenced(attempt: Pick<Attempt, 'outcome' | 'reason' | 'stage'>): boolean {
  return isBroken(attempt) || (attempt.stage === 'Ended' && attempt.outcome !== 'Succeeded');
}
