import type { ApiClient } from '@coxswain/api-client';

/** The filters of the list of checkpoints, as in the form. Empty text does not filter. */
export interface CheckpointListing {
  readonly job: string;
  /** A verdict, `none`, or `good`. */
  readonly verdict: string;
}

/** Reads the filters from the form, or from the address of the page. */
export function checkpointListingOf(form: { get(field: keyof CheckpointListing): unknown }): CheckpointListing {
  const text = (field: keyof CheckpointListing): string => {
    const value = form.get(field);
    return typeof value === 'string' ? value.trim() : '';
  };
  return { job: text('job'), verdict: text('verdict') };
}

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
