import type { ApiClient } from '@coxswain/api-client';

/** The filters of the list of checkpoints, as in the form. Empty text does not filter. */
export interface CheckpointListing {
  readonly job: string;
  /** A verdict, `none`, or `good`. */
  readonly verdict: string;
}

export const ALL_CHECKPOINTS: CheckpointListing = { job: '', verdict: '' };

type CheckpointQuery = NonNullable<Parameters<ApiClient['projectCheckpoints']>[1]>;

/** The same for the API. */
export function checkpointQueryOf({ job, verdict }: CheckpointListing): CheckpointQuery {
  return {
    ...(job === '' ? {} : { job }),
    ...(verdict === GOOD ? { good: true } : verdict === '' ? {} : { verdict }),
  };
}

/** Those that nothing is held against. */
export const GOOD = 'good';

/** What can be chosen, with its words. */
export const VERDICT_CHOICES: readonly (readonly [value: string, words: string])[] = [
  ['', 'all'],
  [GOOD, 'usable'],
  ['sound', 'sound'],
  ['suspect', 'suspect'],
  ['damaged', 'damaged'],
  ['incomplete', 'incomplete'],
  ['unverifiable', 'unverifiable'],
  ['none', 'not verified'],
];
