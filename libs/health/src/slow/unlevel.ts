/** Does the work of ranks change from step to step, and do ranks that get the same samples change together? */
import type { Cohorts } from './cohorts.ts';
import type { Levels } from './levels.ts';
import { KEPT_STEPS, type StepWindow } from './step-window.ts';
import { median } from './robust.ts';

/** How much work varies from step to step. */
export interface Unlevel {
  /** Excess of the 90th percentile of ranks over the median in a step, relative to what is usual for each rank. */
  readonly share: number;
  /** Part of the variance that ranks of one data index share: high for unequal samples, zero for noise. Undefined if no two ranks share an index. */
  readonly common: number | undefined;
}

const LEAST_RANKS = 3;

/** Computes the shared part of the variance only if the excess is at least `worth`. */
export function unlevelness(window: StepWindow, { cohorts, dataOf }: Cohorts, levels: Levels, worth: number): Unlevel {
  let share = 0;
  for (const members of cohorts) {
    if (members.length < LEAST_RANKS) continue;
    const perStep = [...stepsOf(members, window, levels).values()].filter((ratios) => ratios.length >= LEAST_RANKS);
    if (perStep.length > 0) share = Math.max(share, median(perStep.map(excessOf)));
  }
  return { share, common: share < worth ? undefined : commonPart(cohorts.flat(), dataOf, window, levels) };
}

/** By step: the ratio of each rank's time to its usual time. */
function stepsOf(members: readonly number[], { stepAt }: StepWindow, { ratios, level }: Levels): Map<number, number[]> {
  const steps = new Map<number, number[]>();
  for (const rank of members) {
    for (let place = rank * KEPT_STEPS; place < (rank + 1) * KEPT_STEPS; place += 1) {
      const ratio = (ratios[place] ?? NaN) / (level[rank] ?? NaN);
      if (Number.isNaN(ratio)) continue;
      const step = stepAt[place] ?? -1;
      const there = steps.get(step);
      if (there === undefined) steps.set(step, [ratio]);
      else there.push(ratio);
    }
  }
  return steps;
}

function excessOf(ratios: readonly number[]): number {
  const sorted = Float64Array.from(ratios).sort();
  const middle = sorted[sorted.length >> 1] ?? 1;
  return (sorted[Math.floor(0.9 * (sorted.length - 1))] ?? middle) / middle - 1;
}

/** Correlation within groups, from the mean squares within and between them (one-way analysis of variance, groups of nearly equal size). */
function commonPart(
  ranks: readonly number[],
  dataOf: (rank: number) => number,
  { stepAt }: StepWindow,
  { ratios, level }: Levels,
): number | undefined {
  const groups = new Map<string, { count: number; sum: number; squares: number }>();
  for (const rank of ranks) {
    for (let place = rank * KEPT_STEPS; place < (rank + 1) * KEPT_STEPS; place += 1) {
      const ratio = (ratios[place] ?? NaN) / (level[rank] ?? NaN);
      if (Number.isNaN(ratio)) continue;
      const key = `${stepAt[place]} ${dataOf(rank)}`;
      const group = groups.get(key) ?? { count: 0, sum: 0, squares: 0 };
      groups.set(key, group);
      // A pause of one rank is no effect of sequence lengths and would hide what the others share.
      const change = Math.max(-0.5, Math.min(0.5, ratio - 1));
      group.count += 1;
      group.sum += change;
      group.squares += change * change;
    }
  }
  const all = [...groups.values()].filter(({ count }) => count > 1);
  const count = all.reduce((sum, group) => sum + group.count, 0);
  if (all.length < 2 || count === all.length) return undefined;
  const mean = all.reduce((sum, group) => sum + group.sum, 0) / count;
  const within =
    all.reduce((sum, group) => sum + group.squares - group.sum ** 2 / group.count, 0) / (count - all.length);
  const between =
    all.reduce((sum, group) => sum + group.count * (group.sum / group.count - mean) ** 2, 0) / (all.length - 1);
  const size = count / all.length;
  const total = between + (size - 1) * within;
  return total <= 0 ? undefined : Math.max(0, (between - within) / total);
}
