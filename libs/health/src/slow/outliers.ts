/** Which ranks of a cohort are slower than their peers? */
import type { HealthSettings } from '../settings.ts';
import { type Spread, spreadOf } from './robust.ts';

export interface Slow {
  readonly rank: number;
  readonly computeMs: number;
  readonly usualMs: number;
  readonly z: number;
}

export interface Peers {
  readonly members: readonly number[];
  readonly level: Float64Array;
  readonly medianMs: Float64Array;
  /** Usual standard error of a level; NaN where nobody knows. */
  readonly error: number;
  readonly nodeOf: (rank: number) => string | undefined;
  /** Robust deviations beyond which a rank stands out. */
  readonly z: number;
}

export const LEAST_PEERS = 3;
const SIGMA_OF_MAD = 1.4826;
/** Of so few peers the middle is itself uncertain: the effect must be larger by this over their number. */
const FEW_PEERS = 3;
/** A node with a larger share of the cohort is held against the others without itself: where it is slow it would move the middle. */
const NODE_SHARE = 0.125;

export function outliers(peers: Peers, settings: HealthSettings['slow']): Slow[] {
  const { members, level, medianMs } = peers;
  const told = members.filter((rank) => !Number.isNaN(level[rank] ?? NaN));
  if (told.length <= LEAST_PEERS) return [];
  const spreads = spreadsOf(told, peers, settings.epsilon);
  return told.flatMap((rank): Slow[] => {
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

function spreadsOf(told: readonly number[], { level, nodeOf }: Peers, epsilon: number): SpreadFor {
  const of = (ranks: readonly number[]): ReturnType<SpreadFor> => ({
    spread: spreadOf(
      ranks.map((rank) => level[rank] ?? NaN),
      epsilon,
    ),
    count: ranks.length - 1,
  });
  const all = of(told);
  const byNode = Map.groupBy(told, (rank) => nodeOf(rank) ?? '');
  const without = new Map<string, ReturnType<SpreadFor>>();
  for (const [node, ranks] of byNode) {
    const others = told.length - ranks.length;
    if (node === '' || ranks.length < NODE_SHARE * told.length || others < LEAST_PEERS) continue;
    without.set(node, of(told.filter((rank) => nodeOf(rank) !== node)));
  }
  return (rank) => without.get(nodeOf(rank) ?? '') ?? all;
}

/** Of windows that follow each other: the mean level of each rank without the highest, which a few long steps may have made; NaN where it was silent in one. */
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
