/** Which launchers of a gang are to be told something now? */
import type { Attempt } from '@coxswain/api-types';
import { isFenced } from '../failure/broken-gang.ts';
import type { ObservedLauncher } from '../look/observed.ts';

/** What a launcher last said, and which pod of its epoch's placement is its. */
export interface PlacedLauncher extends ObservedLauncher {
  readonly podIndex: number;
}

/** assign: the ranks of the attempt's newest incarnation. endRanks: those of an earlier one are to go. */
export type LauncherOrder =
  { readonly kind: 'assign' } | { readonly kind: 'endRanks'; readonly epoch: number; readonly incarnation: number };

/**
 * What each launcher is to be told, by its pod's UID; whoever is not named is to be told nothing. Stands on what status records: an incarnation
 * that is not recorded is never begun, and one is begun only when nobody of the gang runs an earlier one.
 */
export function launcherOrders(gang: {
  readonly attempt: Attempt | undefined;
  /** Pods of the placement. */
  readonly podCount: number;
  /** By the pod's UID. */
  readonly launchers: ReadonlyMap<string, PlacedLauncher>;
  /** The pause before the newest incarnation is over. */
  readonly isDue: boolean;
}): ReadonlyMap<string, LauncherOrder> {
  const { attempt, podCount, isDue } = gang;
  // Nothing is begun for a gang that is not whole yet or is on its way out.
  if (attempt?.stage !== 'Released' || isFenced(attempt)) return new Map();
  const newest = attempt.incarnation ?? 1;
  const launchers = [...gang.launchers].filter(([, { epoch }]) => epoch === attempt.epoch);
  const free = new Set(launchers.filter(([, one]) => isFree(one, newest)).map(([, { podIndex }]) => podIndex));
  const mayBegin = newest === 1 || (isDue && free.size === podCount);
  return new Map(
    launchers.flatMap(([podUid, launcher]): (readonly [string, LauncherOrder])[] => {
      const { epoch, incarnation, state } = launcher;
      if (incarnation >= newest) return [];
      if (state === 'running') return [[podUid, { kind: 'endRanks', epoch, incarnation }]];
      return mayBegin ? [[podUid, { kind: 'assign' }]] : [];
    }),
  );
}

/** No process of an incarnation before the newest one is left there. */
function isFree({ incarnation, state }: ObservedLauncher, newest: number): boolean {
  return incarnation >= newest || state !== 'running';
}
