import { islandRule } from './arrange.ts';
import { bestSplit } from './best-split.ts';
import { BOUNDARY_WEIGHTS } from './boundary-weights.ts';
import { gangUnits } from './gang-units.ts';
import type { AcrossIslands, GangShape } from './gang-shape.ts';
import { bytesBetweenUnits, mostKept } from './most-kept.ts';
import { COST_WITHIN_LEVEL, switchTree } from './switch-tree.ts';
import type { OpenNode } from './open-nodes.ts';
import type { LayoutTraffic } from './traffic.ts';
import { unitGrid, withRingsCutTwice } from './unit-grid.ts';

/**
 * Weighted bytes that every placement of the gang lets cross, as `weightedBytes` counts them. What the pods' places do not change (bytes between
 * GPUs and between nodes) is in it, and is all of it where the last pods of a gang are no whole unit. Proof: docs/reference/placement.md.
 */
export function lowerBound(question: {
  readonly shape: GangShape;
  readonly traffic: LayoutTraffic;
  readonly open: readonly OpenNode[];
  readonly acrossIslands: AcrossIslands;
}): number {
  const { shape, traffic, open, acrossIslands } = question;
  const fixed = fixedBytes(shape, traffic);
  if (shape.restPods > 0 || shape.lastPodRanks < shape.ranksPerPod) return fixed;
  const units = gangUnits(shape, traffic);
  const tree = switchTree(shape, open);
  const grid = unitGrid(units);
  const everything = COST_WITHIN_LEVEL.at(-1) ?? 0;
  const bounds = SHARES_PAIR_BY_PAIR.map((share) => {
    const counted = withRingsCutTwice(grid, share);
    const kept = mostKept(counted, units.count);
    const split = bestSplit({ tree, units: units.count, kept, islandTakes: islandRule(units, acrossIslands) });
    return split === undefined ? 0 : everything * bytesBetweenUnits(counted) - split.keptWeighted;
  });
  return fixed + Math.max(...bounds);
}

/** Each gives a bound. */
const SHARES_PAIR_BY_PAIR = [1, 0.75, 0.5, 0.25, 0] as const;

/** Weighted bytes over GPUs and nodes: each pod has a node of its own, whichever that is. */
export function fixedBytes(shape: GangShape, traffic: LayoutTraffic): number {
  const all = bytesBetweenRuns(traffic, 1);
  const betweenPods = bytesBetweenRuns(traffic, shape.ranksPerPod);
  return BOUNDARY_WEIGHTS.gpu * all + BOUNDARY_WEIGHTS.node * betweenPods;
}

/** Bytes between runs of so many ranks. */
export function bytesBetweenRuns({ byKind }: LayoutTraffic, ranksPerRun: number): number {
  let bytes = 0;
  for (const { pattern, bytesPerPair, groups } of byKind) {
    for (const group of groups) bytes += bytesPerPair * pairsBetweenRuns(pattern, group, ranksPerRun);
  }
  return bytes;
}

function pairsBetweenRuns(
  pattern: 'ring' | 'allToAll' | 'chain',
  group: readonly number[],
  ranksPerRun: number,
): number {
  const membersOf = new Map<number, number>();
  for (const rank of group) {
    const run = Math.floor(rank / ranksPerRun);
    membersOf.set(run, (membersOf.get(run) ?? 0) + 1);
  }
  if (pattern === 'chain') return membersOf.size - 1;
  if (pattern === 'ring') return membersOf.size === 1 ? 0 : membersOf.size;
  return group.length ** 2 - [...membersOf.values()].reduce((sum, members) => sum + members ** 2, 0);
}
