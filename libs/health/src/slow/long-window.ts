/** Who is slower than peers over several windows, where the steps of one spread too far to show it? */
import type { HealthSettings } from '../settings.ts';
import type { Cohorts } from './cohorts.ts';
import type { ComputeFindings, NodeOf } from './compute-window.ts';
import { meanLevel, outliers, type Slow } from './outliers.ts';

export interface LongWindow {
  /** The window that just ended; answers who stands out over the last ones, each of them. */
  readonly take: (found: ComputeFindings) => readonly Slow[];
  /** Those that single windows showed, and those that only several did, each once until it is well again. */
  readonly due: (byWindows: readonly number[]) => readonly number[];
}

export function longWindow({ cohorts }: Cohorts, { slow }: HealthSettings, nodeOf: NodeOf): LongWindow {
  const levels: Float64Array[] = [];
  const errors: (readonly number[])[] = [];
  const told = new Set<number>();
  let standing: readonly number[] = [];
  const isSlowThroughout = (rank: number): boolean =>
    levels.every((level) => (level[rank] ?? NaN) > 1 + slow.excess / 2);
  return {
    take: (found) => {
      levels.push(found.levels.level);
      errors.push(found.levels.errors);
      if (levels.length > slow.windows) {
        levels.shift();
        errors.shift();
      }
      // Who is slow in no window by what it is sent is not slow over several.
      const isHot = new Set(found.hotRanks);
      const level = meanLevel(levels, found.levels.level.length);
      const { medianMs } = found.levels;
      const slowNow =
        levels.length < slow.windows
          ? []
          : cohorts.flatMap((members, index) => {
              const error = meanOf(errors.map((each) => each[index] ?? NaN)) / Math.sqrt(levels.length);
              return outliers({ members, level, medianMs, error, nodeOf, z: slow.longZ }, slow);
            });
      const lasting = slowNow.filter(({ rank }) => isSlowThroughout(rank) && !isHot.has(rank));
      standing = lasting.map(({ rank }) => rank);
      return lasting;
    },
    due: (byWindows) => {
      for (const rank of told) if (!((levels.at(-1)?.[rank] ?? NaN) > 1 + slow.excess / 2)) told.delete(rank);
      const due = [...new Set([...byWindows, ...standing])].filter((rank) => !told.has(rank));
      for (const rank of due) told.add(rank);
      return due;
    },
  };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
