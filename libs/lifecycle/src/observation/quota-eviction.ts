/** Does Kueue take the quota of a running gang, and how long may the gang save before it stops? */
import type { Attempt } from '@coxswain/api-types';
import type { Facts } from './facts.ts';
import type { Wait } from './waits.ts';

/**
 * How long the ranks may take for the save that is asked for. Kueue gives the GPUs to no other job meanwhile, and jobs of its queues wait. So the time is
 * short: the grace period of the pods, in which a rank saves at SIGTERM, follows it.
 */
const EVICTION_SAVE_MS = 120_000;

/** Why the quota of an attempt whose ranks run is taken; undefined: it is not taken. */
export function evictionOf(
  { observed: { quota } }: Pick<Facts, 'observed'>,
  { stage }: Pick<Attempt, 'stage'>,
): { readonly message: string } | undefined {
  return stage === 'Released' && quota?.kind === 'evicted' ? quota : undefined;
}

/** The wait for that save. */
export function evictionSave({ epoch }: Pick<Attempt, 'epoch'>): Wait {
  return { key: `e${epoch}/eviction/saves`, limitMs: EVICTION_SAVE_MS };
}

/** Names the eviction among the reasons for an early save. */
export function evictionKey({ epoch }: Pick<Attempt, 'epoch'>): string {
  return `QuotaEvicted e${epoch}`;
}
