/** Which orders does each launcher of a gang get now? */
import { type Attempt, hasRanks, memberCount, type PlacementSpec } from '@coxswain/api-types';
import { isFenced } from '../failure/broken-gang.ts';
import { longestDelayMs } from '../failure/restart-budget.ts';
import { hasReaped, isBegun } from '../observation/incarnation.ts';
import type { ObservedLauncher } from '../observation/observed-launcher.ts';
import { memorySaveOfAll } from '../observation/memory-save.ts';

/** A launcher's last report, and the index of its pod in the placement. */
export interface PlacedLauncher extends ObservedLauncher {
  readonly podIndex: number;
}

/** assign: the ranks of the attempt's newest incarnation. endRanks: those of an earlier one are to go. */
export type LauncherOrder =
  { readonly kind: 'assign' } | { readonly kind: 'endRanks'; readonly epoch: number; readonly incarnation: number };

/**
 * The order for each launcher, by its pod's UID; a launcher without an entry gets no order. Orders follow the recorded status only: an
 * unrecorded incarnation never begins, and a recorded one begins only when no launcher of a pod with ranks runs an earlier one. Neither a standby
 * nor a pod that lost its ranks is waited for.
 */
export function launcherOrders(gang: {
  readonly attempt: Attempt | undefined;
  /** Pods that hold ranks. */
  readonly podCount: number;
  /** Whether the pod of that index holds ranks. Absent: each does. */
  readonly isMember?: (podIndex: number) => boolean;
  /** By the pod's UID. */
  readonly launchers: ReadonlyMap<string, PlacedLauncher>;
  /** Whether the pause before the newest incarnation is over. */
  readonly isDue: boolean;
}): ReadonlyMap<string, LauncherOrder> {
  const { attempt, podCount, isMember = () => true, isDue } = gang;
  // Nothing begins for a gang that is incomplete or stopping.
  if (attempt?.stage !== 'Released' || isFenced(attempt)) return new Map();
  const newest = attempt.incarnation ?? 1;
  const launchers = [...gang.launchers].filter(([, { epoch }]) => epoch === attempt.epoch);
  const lost = new Set((attempt.replacements ?? []).map(({ podIndex }) => podIndex));
  const fence = { epoch: attempt.epoch, incarnation: newest };
  const members = launchers.filter(([, { podIndex }]) => isMember(podIndex));
  const free = new Set(members.filter(([, one]) => hasReaped(one, fence)).map(([, { podIndex }]) => podIndex));
  const isFree = free.size === podCount || isBegun(gang.launchers.values(), fence);
  // A save in memory is recorded before any launcher receives it.
  const isUnrecorded =
    attempt.memorySave === undefined &&
    free.size === podCount &&
    memorySaveOfAll(
      attempt,
      members.map(([, one]) => one),
    ) !== undefined;
  const mayBegin = newest === 1 || (isDue && isFree && !isUnrecorded);
  return new Map(
    launchers.flatMap(([podUid, launcher]): (readonly [string, LauncherOrder])[] => {
      const { epoch, incarnation, state, podIndex } = launcher;
      if (incarnation >= newest) return [];
      if (state === 'running') return [[podUid, { kind: 'endRanks', epoch, incarnation }]];
      return mayBegin && !lost.has(podIndex) ? [[podUid, { kind: 'assign' }]] : [];
    }),
  );
}

/**
 * Whether the pause before a restart is over, by the caller's wall clock. A time further away than the longest pause was written by a wrong
 * clock and is ignored, so that a clock which is an hour off delays no gang by an hour.
 */
export function isPauseOver(
  { notBefore, delaySeconds }: { readonly notBefore: string | undefined; readonly delaySeconds: number },
  now: Date,
): boolean {
  const leftMs = Date.parse(notBefore ?? '') - now.getTime();
  return !(leftMs > 0 && leftMs <= longestDelayMs({ delaySeconds }));
}

/** The pods of a placement that hold ranks, as {@link launcherOrders} takes them. `placement`: with the ranks in the pods that hold them now. */
export function membersOf(
  placement: PlacementSpec,
): Pick<Parameters<typeof launcherOrders>[0], 'podCount' | 'isMember'> {
  return { podCount: memberCount(placement), isMember: (podIndex) => hasRanks(placement, podIndex) };
}
