/** Which ranks of a cohort are slower than their peers? */
import type { HealthSettings } from '../settings.ts';
import { type Spread, spreadOf } from './robust.ts';

/** A rank that is slower than its peers. */
export interface Slow {
  readonly rank: number;
  readonly computeMs: number;
  readonly usualMs: number;
  readonly z: number;
}

/** The ranks of a cohort and their levels. */
export interface Peers {
  readonly members: readonly number[];
  readonly level: Float64Array;
  readonly medianMs: Float64Array;
  /** Usual standard error of a level; NaN if unknown. */
  readonly error: number;
  readonly nodeOf: (rank: number) => string | undefined;
  /** Robust z above which a rank stands out. */
  readonly z: number;
}

/** Peers that a comparison needs. */
export const LEAST_PEERS = 3;
const SIGMA_OF_MAD = 1.4826;
/** The median of few peers is itself uncertain, so the effect must be larger by this divided by their number. */
const FEW_PEERS = 3;
/** A node with a larger share of the cohort is compared with the other nodes alone: a slow one would move the median. */
const NODE_SHARE = 0.125;

/** The ranks that are slower than their peers by the thresholds of the settings. */
export function outliers(peers: Peers, settings: HealthSettings['slow']): Slow[] {
  const { members, level, medianMs } = peers;
  const reported = members.filter((rank) => !Number.isNaN(level[rank] ?? NaN));
  if (reported.length <= LEAST_PEERS) return [];
  const spreads = spreadsOf(reported, peers, settings.epsilon);
  return reported.flatMap((rank): Slow[] => {
    const { spread, count } = spreads(rank);
    const known = Number.isNaN(peers.error) ? 0 : peers.error;
    const sigma = Math.max(SIGMA_OF_MAD * spread.mad, known);
    const own = level[rank] ?? NaN;
    const z = (own - spread.median) / sigma;
    const least = 1 + settings.excess * (1 + FEW_PEERS / count);
    if (!(z > peers.z && own > least * spread.median)) return [];
    const computeMs = medianMs[rank] ?? NaN;
    return [{ rank, computeMs, usualMs: (computeMs * spread.median) / own, z }];
  });
}

type SpreadFor = (rank: number) => { readonly spread: Spread; readonly count: number };

function spreadsOf(reported: readonly number[], { level, nodeOf }: Peers, epsilon: number): SpreadFor {
  const of = (ranks: readonly number[]): ReturnType<SpreadFor> => ({
    spread: spreadOf(
      ranks.map((rank) => level[rank] ?? NaN),
      epsilon,
    ),
    count: ranks.length - 1,
  });
  const all = of(reported);
  const byNode = Map.groupBy(reported, (rank) => nodeOf(rank) ?? '');
  const without = new Map<string, ReturnType<SpreadFor>>();
  for (const [node, ranks] of byNode) {
    const others = reported.length - ranks.length;
    if (node === '' || ranks.length < NODE_SHARE * reported.length || others < LEAST_PEERS) continue;
    without.set(node, of(reported.filter((rank) => nodeOf(rank) !== node)));
  }
  return (rank) => without.get(nodeOf(rank) ?? '') ?? all;
}

/** Mean level of each rank over consecutive windows, without its highest, which a few long steps may have caused; NaN if the rank did not report in one of them. */
export function meanLevel(levels: readonly Float64Array[], ranks: number): Float64Array {
  return Float64Array.from({ length: ranks }, (_, rank) => {
    let sum = 0;
    let highest = 0;
    for (const level of levels) {
      sum += level[rank] ?? NaN;
      highest = Math.max(highest, level[rank] ?? NaN);
    }
    return (sum - highest) / (levels.length - 1);
  });
}
