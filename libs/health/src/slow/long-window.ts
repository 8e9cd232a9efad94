/** Which ranks are slower than their peers over several windows, if the steps of one window vary too much to show it? */
import type { HealthSettings } from '../settings.ts';
import type { Cohorts } from './cohorts.ts';
import type { ComputeFindings, NodeOf } from './compute-window.ts';
import { meanLevel, outliers, type Slow } from './outliers.ts';

/** Levels of the last windows. */
export interface LongWindow {
  /** Adds the window that ended and returns the ranks that stand out in each of the last windows. */
  readonly take: (found: ComputeFindings) => readonly Slow[];
  /** Ranks to report: those that single windows showed and those that only several did, each once until it recovers. */
  readonly due: (byWindows: readonly number[]) => readonly number[];
}

/** Begins without any window. */
export function longWindow({ cohorts }: Cohorts, { slow }: HealthSettings, nodeOf: NodeOf): LongWindow {
  const levels: Float64Array[] = [];
  const errors: (readonly number[])[] = [];
  const reported = new Set<number>();
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
      // A rank whose reported work explains each window is not slow over several.
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
      for (const rank of reported) if (!((levels.at(-1)?.[rank] ?? NaN) > 1 + slow.excess / 2)) reported.delete(rank);
      const due = [...new Set([...byWindows, ...standing])].filter((rank) => !reported.has(rank));
      for (const rank of due) reported.add(rank);
      return due;
    },
  };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
