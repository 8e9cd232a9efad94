/** When has a slow rank cost as much as its replacement would? */
import type { HealthSettings } from '../settings.ts';
import type { Slow } from './outliers.ts';

/** Time that a job has lost to each slow rank. */
export interface SlowCosts {
  /** Ends a window that named some ranks. Returns the ranks that are still slow and have now cost the job as much as a restart. */
  readonly close: (named: readonly number[], found: ReadonlyMap<number, Slow>, windowMs: number) => readonly number[];
  /** Milliseconds that the job has lost to a rank. */
  readonly lostMs: (rank: number) => number;
  /** Named ranks that are slow in the newest window. */
  readonly slowNow: () => readonly number[];
}

interface Cost {
  lostMs: number;
  wellWindows: number;
  isDue: boolean;
}

/**
 * The ski-rental rule (GREYHOUND, ATC'25): how long a rank stays slow is unknown. Waiting until the loss equals the cost of a replacement costs at most
 * twice the optimum. All ranks wait for the slowest one, so its excess is what the job loses.
 */
export function slowCosts({ replaceCostMs, flagged, windows }: HealthSettings['slow']): SlowCosts {
  const costs = new Map<number, Cost>();
  const add = (cost: Cost, slow: Slow, forMs: number): void => {
    cost.lostMs += forMs * (1 - slow.usualMs / slow.computeMs);
  };
  return {
    lostMs: (rank) => costs.get(rank)?.lostMs ?? 0,
    slowNow: () => [...costs].flatMap(([rank, { wellWindows }]) => (wellWindows === 0 ? rank : [])),
    close: (named, found, windowMs) => {
      for (const [rank, cost] of costs) {
        const slow = found.get(rank);
        cost.wellWindows = slow === undefined ? cost.wellWindows + 1 : 0;
        // A verdict that is read again now is dropped. If the rank is slow once more before it counts as well, it is due again.
        if (slow === undefined) cost.isDue = false;
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
