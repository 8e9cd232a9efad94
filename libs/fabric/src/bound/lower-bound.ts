import { islandRule } from '../arrange/arrange.ts';
import { bestSplit, weightedAtLevels } from '../units/best-split.ts';
import { BOUNDARY_WEIGHTS } from '../traffic/boundary-weights.ts';
import { gangUnits } from '../units/gang-units.ts';
import type { AcrossIslands, GangShape } from '../traffic/gang-shape.ts';
import { levelRooms, mostBesideOthers } from '../units/level-rooms.ts';
import { bytesBetweenUnits, mostKept, permutations } from '../units/most-kept.ts';
import { openByType } from '../capacity/open-by-type.ts';
import type { OpenNode } from '../capacity/open-nodes.ts';
import { type SlabGrid, slabGrid } from './priced-kept.ts';
import { mostKeptBySlabs } from './slab-bound.ts';
import { COST_WITHIN_LEVEL, domainsWithin, switchTree, type SwitchTree } from '../units/switch-tree.ts';
import type { LayoutTraffic } from '../traffic/traffic.ts';
import { type UnitGrid, unitGrid, withRingsCutTwice } from '../units/unit-grid.ts';

/** The gang, its traffic and the open nodes for which a lower bound is computed. */
export interface BoundQuestion {
  readonly shape: GangShape;
  readonly traffic: LayoutTraffic;
  readonly open: readonly OpenNode[];
  readonly acrossIslands: AcrossIslands;
  /** Weighted bytes of a placement that is known: the bound is tightened until it gets there, for a number of operations. Absent: not tightened. */
  readonly known?: number;
}

/**
 * Weighted bytes that every placement of the gang lets cross, as `weightedBytes` counts them. What the pods' places do not change (bytes between
 * GPUs and between nodes) is in it, and is all of it where the last pods of a gang are no whole unit. Proof: docs/reference/placement.md.
 */
export function lowerBound(question: BoundQuestion): number {
  return Math.min(...openByType(question).map((open) => boundOn({ ...question, open })));
}

function boundOn({ shape, traffic, open, acrossIslands, known }: BoundQuestion): number {
  const fixed = fixedBytes(shape, traffic);
  if (shape.restPods > 0 || shape.lastPodRanks < shape.ranksPerPod) return fixed;
  const units = gangUnits(shape, traffic);
  const setting = {
    grid: unitGrid(units),
    tree: switchTree(shape, open, domainsWithin(acrossIslands)),
    units: units.count,
    islandTakes: islandRule(units, acrossIslands),
  };
  const byCount = crossingByCount(setting);
  if (known === undefined || byCount === 0) return fixed + byCount;
  return fixed + crossingBySlabs(setting, { byCount, known: known - fixed });
}

interface Setting {
  readonly grid: UnitGrid;
  readonly tree: SwitchTree;
  readonly units: number;
  readonly islandTakes: (x: number) => boolean;
}

/** What crosses because only so many units are below each switch; 0 where there is no room. */
function crossingByCount({ grid, tree, units, islandTakes }: Setting): number {
  const rooms = levelRooms(tree);
  const largest = mostBesideOthers(rooms, units);
  const bounds = SHARES_PAIR_BY_PAIR.map((share) => {
    const counted = withRingsCutTwice(grid, share);
    const kept = weightedAtLevels(mostKept(counted, largest), rooms, { units, bytes: bytesBetweenUnits(counted) });
    const split = bestSplit({ tree, units, kept, islandTakes });
    return split === undefined ? 0 : weightedBytesBetween(counted) - split.keptWeighted;
  });
  return Math.max(...bounds);
}

/** Each gives a bound. */
const SHARES_PAIR_BY_PAIR = [1, 0.75, 0.5, 0.25, 0] as const;

function weightedBytesBetween(grid: UnitGrid): number {
  return (COST_WITHIN_LEVEL.at(-1) ?? 0) * bytesBetweenUnits(grid);
}

const EQUAL = 1 + 1e-9;
const MOST_OPERATIONS = 120_000_000;

/** At least `byCount`: that, or what crosses because groups are cut into pieces that have to lie somewhere. */
function crossingBySlabs(
  { grid, tree, units, islandTakes }: Setting,
  { byCount, known }: { readonly byCount: number; readonly known: number },
): number {
  const between = weightedBytesBetween(grid);
  const isEachAlone = tree.bins.every(({ level }) => level > 0);
  const ways = waysToSlice(grid, isEachAlone);
  let most = byCount;
  for (const slabs of ways) {
    if (most * EQUAL >= known) break;
    const operations = MOST_OPERATIONS / ways.length;
    const kept = mostKeptBySlabs({ slabs, tree, units, islandTakes, known: between - known, operations });
    most = Math.max(most, between - kept);
  }
  return most;
}

/** A slab for each set of axes along which groups lie, those with the most bytes first, and the other axes in every order. */
function waysToSlice(grid: UnitGrid, isEachAlone: boolean): readonly SlabGrid[] {
  const long = grid.axes.flatMap(({ degree }, axis) => (degree > 1 ? [axis] : []));
  const bytesOf = new Map<string, number>();
  for (const { axes, bytes } of grid.terms) {
    const key = axes.filter((axis) => long.includes(axis)).join();
    bytesOf.set(key, (bytesOf.get(key) ?? 0) + bytes);
  }
  return [...bytesOf]
    .sort(([, one], [, other]) => other - one)
    .map(([key]) => key.split(',').map(Number))
    .filter((within) => within.length < long.length)
    .flatMap((within) =>
      permutations(long.filter((axis) => !within.includes(axis))).map((piled) =>
        slabGrid(grid, { within, piled, isEachAlone }),
      ),
    );
}

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
