/** When has a slow rank cost as much as its replacement would? */
import type { HealthSettings } from '../settings.ts';
import type { Slow } from './outliers.ts';

export interface SlowCosts {
  /** The window that just ended, and who was named by it. Answers, of those that still are slow, who has now cost the job as much as a restart. */
  readonly close: (named: readonly number[], found: ReadonlyMap<number, Slow>, windowMs: number) => readonly number[];
  /** Milliseconds that the job has lost to it. */
  readonly lostMs: (rank: number) => number;
}

interface Cost {
  lostMs: number;
  wellWindows: number;
  isDue: boolean;
}

/**
 * The rule of ski rental (GREYHOUND, ATC'25): nobody knows how long a slowness lasts, and who waits until it has cost as much as its cure pays at most twice what
 * he would have paid had he known. All others wait for a slow rank, so that its excess is what the job loses.
 */
export function slowCosts({ replaceCostMs, flagged, windows }: HealthSettings['slow']): SlowCosts {
  const costs = new Map<number, Cost>();
  const add = (cost: Cost, slow: Slow, forMs: number): void => {
    cost.lostMs += forMs * (1 - slow.usualMs / slow.computeMs);
  };
  return {
    lostMs: (rank) => costs.get(rank)?.lostMs ?? 0,
    close: (named, found, windowMs) => {
      for (const [rank, cost] of costs) {
        const slow = found.get(rank);
        cost.wellWindows = slow === undefined ? cost.wellWindows + 1 : 0;
        if (slow !== undefined) add(cost, slow, windowMs);
        if (cost.wellWindows >= windows) costs.delete(rank);
      }
      for (const rank of named) {
        const slow = found.get(rank);
        if (slow === undefined || costs.has(rank)) continue;
        const cost = { lostMs: 0, wellWindows: 0, isDue: false };
        add(cost, slow, flagged * windowMs);
        costs.set(rank, cost);
      }
      return [...costs].flatMap(([rank, cost]) => {
        if (cost.isDue || cost.lostMs < replaceCostMs || !found.has(rank)) return [];
        cost.isDue = true;
        return [rank];
      });
    },
  };
}
