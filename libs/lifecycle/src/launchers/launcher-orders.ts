/** Which launchers of a gang are to be told something now? */
import type { Attempt } from '@coxswain/api-types';
import { isFenced } from '../failure/broken-gang.ts';
import { longestDelayMs } from '../failure/restart-budget.ts';
import { hasReaped, isBegun } from '../observation/incarnation.ts';
import type { ObservedLauncher } from '../observation/observed.ts';

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
  const fence = { epoch: attempt.epoch, incarnation: newest };
  const free = new Set(launchers.filter(([, one]) => hasReaped(one, fence)).map(([, { podIndex }]) => podIndex));
  const isFree = free.size === podCount || isBegun(gang.launchers.values(), fence);
  const mayBegin = newest === 1 || (isDue && isFree);
  return new Map(
    launchers.flatMap(([podUid, launcher]): (readonly [string, LauncherOrder])[] => {
      const { epoch, incarnation, state } = launcher;
      if (incarnation >= newest) return [];
      if (state === 'running') return [[podUid, { kind: 'endRanks', epoch, incarnation }]];
      return mayBegin ? [[podUid, { kind: 'assign' }]] : [];
    }),
  );
}

/**
 * Whether the pause before a restart is over, by the wall clock of whoever asks. What is further away than any pause was written by another clock,
 * and is no pause: a clock that is an hour off holds no gang for an hour.
 */
export function isPauseOver(
  { notBefore, delaySeconds }: { readonly notBefore: string | undefined; readonly delaySeconds: number },
  now: Date,
): boolean {
  const leftMs = Date.parse(notBefore ?? '') - now.getTime();
  return !(leftMs > 0 && leftMs <= longestDelayMs({ delaySeconds }));
}
