/** Where a rank has no peers: is it slower than it was? */
import type { HealthSettings } from '../settings.ts';
import type { Cohorts } from './cohorts.ts';
import type { Slow } from './compute-window.ts';

const PEERS = 3;
const LEAST_WINDOWS = 5;

export interface OwnHistory {
  readonly compare: (medianMs: Float64Array) => readonly Slow[];
}

/** Against the least median of any window so far (NVRx's individual score). Where most ranks of the job are slower than they were, it is no rank. */
export function ownHistory({ cohorts }: Cohorts, { slow }: HealthSettings): OwnHistory {
  const alone = new Set(cohorts.filter((members) => members.length < PEERS).flat());
  const least = new Map<number, number>();
  let windows = 0;
  return {
    compare: (medianMs) => {
      const slower: Slow[] = [];
      for (const rank of alone) {
        const computeMs = medianMs[rank] ?? NaN;
        if (Number.isNaN(computeMs)) continue;
        const usualMs = least.get(rank) ?? computeMs;
        least.set(rank, Math.min(usualMs, computeMs));
        const z = (0.6745 * (computeMs - usualMs)) / (slow.epsilon * usualMs);
        if (computeMs > (1 + slow.excess) * usualMs && z > slow.z) slower.push({ rank, computeMs, usualMs, z });
      }
      windows += 1;
      return windows > LEAST_WINDOWS && slower.length <= alone.size / 2 ? slower : [];
    },
  };
}
