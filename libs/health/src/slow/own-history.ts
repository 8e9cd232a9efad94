/** For a rank with too few peers: is it slower than before, while other ranks are not? */
import type { HealthSettings } from '../settings.ts';
import type { Cohorts } from './cohorts.ts';
import { known, type Levels } from './levels.ts';
import { LEAST_PEERS, outliers, type Slow } from './outliers.ts';
import { median, medianInPlace } from './robust.ts';

const LEAST_WINDOWS = 5;
const KEPT_WINDOWS = 32;

/** Earlier windows of ranks without enough peers. */
export interface OwnHistory {
  readonly compare: (levels: Levels, nodeOf: (rank: number) => string | undefined) => readonly Slow[];
}

/**
 * Compares each rank with the median of its own earlier windows, and that ratio with the ratios of all other ranks without peers. No rank is named if the
 * whole job is slower or its samples became longer. A window in which a rank stood out is not learnt.
 */
export function ownHistory({ cohorts }: Cohorts, { slow }: HealthSettings): OwnHistory {
  const alone = cohorts.flatMap((members, cohort) =>
    members.length <= LEAST_PEERS ? members.map((rank) => ({ rank, cohort })) : [],
  );
  const members = alone.map(({ rank }) => rank);
  const past = new Map<number, number[]>(members.map((rank) => [rank, []]));
  return {
    compare: ({ medianMs, errors }, nodeOf) => {
      if (alone.length === 0) return [];
      const change = new Float64Array(medianMs.length).fill(NaN);
      for (const rank of members) {
        const before = past.get(rank) ?? [];
        if (before.length >= LEAST_WINDOWS) change[rank] = (medianMs[rank] ?? NaN) / median(before);
      }
      const error = medianInPlace(known(alone.map(({ cohort }) => errors[cohort] ?? NaN)));
      const found = outliers({ members, level: change, medianMs, error, nodeOf, z: slow.z }, slow);
      const stoodOut = new Set(found.map(({ rank }) => rank));
      for (const rank of members) {
        const now = medianMs[rank] ?? NaN;
        const before = past.get(rank);
        if (before === undefined || Number.isNaN(now) || stoodOut.has(rank)) continue;
        before.push(now);
        if (before.length > KEPT_WINDOWS) before.shift();
      }
      return found;
    },
  };
}
