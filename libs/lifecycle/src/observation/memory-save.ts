/** From which save in the memory of the pods does the next incarnation begin? */
import type { Attempt, MemorySave } from '@coxswain/api-types';
import { fenceOf, hasReaped, isBegun } from './incarnation.ts';
import type { ObservedLauncher } from './observed-launcher.ts';

/**
 * The newest save in memory that every launcher of the gang reports, if it is newer than the recorded checkpoint. undefined: there is none. It is not known
 * while ranks of an earlier incarnation run, and does not change once the next ones have begun. A launcher reports only what its own ranks have saved in these pods, so a pod that was
 * replaced has none.
 */
export function memorySaveOfAll(
  attempt: Pick<Attempt, 'epoch' | 'incarnation' | 'resumedFrom'>,
  launchers: readonly (ObservedLauncher | undefined)[],
): MemorySave | undefined {
  const fence = fenceOf(attempt);
  if (fence.incarnation === 1 || attempt.resumedFrom === undefined || isBegun(launchers, fence)) return undefined;
  if (launchers.length === 0 || !launchers.every((one) => hasReaped(one, fence))) return undefined;
  const [first, ...others] = launchers.map((one) => one?.memorySaves ?? []);
  const { step: saved } = attempt.resumedFrom;
  return first
    ?.filter((one) => one.step > saved && others.every((saves) => saves.some((other) => isSame(one, other))))
    .toSorted((one, other) => one.step - other.step)
    .at(-1);
}

function isSame(one: MemorySave, other: MemorySave): boolean {
  return one.incarnation === other.incarnation && one.step === other.step;
}
