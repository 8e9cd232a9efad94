import { divisorsOf } from '@coxswain/layout';
import { bestSplit, type Split, splitOperations, weightedAtLevels } from '../units/best-split.ts';
import { arrangementCost, type BinDistances, distancesBetween } from '../units/bin-distances.ts';
import { gangUnits, type GangUnits, type UnitGraph, unitGraph } from '../units/gang-units.ts';
import type { AcrossIslands, GangShape } from '../traffic/gang-shape.ts';
import { levelRooms, mostBesideOthers } from '../units/level-rooms.ts';
import { bytesBetweenUnits, mostKept } from '../units/most-kept.ts';
import type { Arrangement } from './swap-search.ts';
import { improved } from './swaps.ts';
import {
  COST_WITHIN_LEVEL,
  type DomainOf,
  type SwitchNode,
  switchTree,
  type SwitchTree,
  TREE_LEVELS,
} from '../units/switch-tree.ts';
import type { OpenNode } from '../capacity/open-nodes.ts';
import type { LayoutTraffic } from '../traffic/traffic.ts';
import { type UnitAxis, type UnitGrid, unitGrid, withRingsCutTwice } from '../units/unit-grid.ts';
import { cutsLines, packLines } from './pack-lines.ts';
import { lineOrders, unitOrders } from '../units/unit-orders.ts';
import { besideWholeLines } from '../units/whole-lines.ts';

/** The gang to arrange, its traffic, and the nodes and NVLink domains that it may use. */
export interface ArrangeQuestion {
  readonly shape: GangShape;
  readonly traffic: LayoutTraffic;
  readonly open: readonly OpenNode[];
  readonly acrossIslands: AcrossIslands;
  readonly domainOf: DomainOf;
}

/** A table of kept bytes takes units * (units of the roomiest switch) operations; larger gangs are split by a rule of thumb. */
const MOST_TABLE_ENTRIES = 4_600 ** 2;
const MOST_SPLIT_OPERATIONS = 400_000_000;
const MOST_EXTRA_OPERATIONS = 30_000_000;
const FEWEST_SWAP_OPERATIONS = 6_400_000;
const MOST_SWAP_OPERATIONS = 25_600_000;
const SWAP_OPERATIONS_PER_PAIR = 6_400;
const MOST_ASSIGNMENT_OPERATIONS = 8_000_000;
const OPERATIONS_PER_BIN_OF_LINE = 10;
const MOST_SPLITS = 24;
const TEMPERATURES = [0.05, 0.4] as const;

/**
 * Nodes, pod by pod, that minimise the weighted bytes over switches. First chooses how many units go below each switch, by the most that so many
 * could keep there. Then chooses which units: tries many orders of the grid of units and swaps units of the best one. Undefined if the gang has no
 * room as whole units, or is too large to be split like that.
 */
export function arrange(question: ArrangeQuestion): readonly string[] | undefined {
  const { shape, traffic, open, acrossIslands, domainOf } = question;
  const units = gangUnits(shape, traffic);
  const tree = switchTree(shape, open, domainOf);
  if (tree.root.room < units.count || splitOperations(tree, units.count) > MOST_SPLIT_OPERATIONS) return undefined;
  const grid = unitGrid(units);
  const { splits, least } = splitsToTry(units, tree, { grid, acrossIslands });
  if (splits.length === 0) return undefined;
  const graph = unitGraph(units);
  const distances = distancesBetween(tree);
  const assignment = { units, tree, graph, distances, acrossIslands };
  const islands = tree.above[TREE_LEVELS.indexOf('island')];
  const mayTrade = (one: number, other: number): boolean =>
    acrossIslands === 'anyGroup' || islands?.[one] === islands?.[other];
  const operations =
    swapOperations(units.count, splits.length * splitOperations(tree, units.count)) / TEMPERATURES.length;
  const starts = [
    bestPacking(assignment, splits, grid),
    bestAssignment(assignment, splits, unitOrders(grid, units.count)),
  ];
  const axes = shape.restPods > 0 ? [] : linesOf(grid);
  const limits = { operations: operations / starts.length, mayTrade, least, axes };
  const costs = { graph, distances };
  const arranged = starts
    .filter(({ cost }) => cost < Infinity)
    .map((start) =>
      TEMPERATURES.reduce((best, temperature) => improved(best, costs, { ...limits, temperature: temperature }), start),
    )
    .reduce((best, one) => (one.cost < best.cost * (1 - 1e-9) ? one : best));
  return nodesOf(shape, tree, arranged.binOf);
}

/** Along which groups lie: each axis, and several together where they are one next to the other. */
function linesOf({ axes, terms }: UnitGrid): readonly UnitAxis[] {
  const single = axes.filter(({ degree }) => degree > 1);
  const joined = terms.flatMap(({ axes: indexes }) => {
    const [first, ...others] = indexes.flatMap((index) => axes[index] ?? []).filter(({ degree }) => degree > 1);
    if (first === undefined || others.length === 0) return [];
    let { degree } = first;
    for (const other of others) {
      if (other.stride !== first.stride * degree) return [];
      degree *= other.degree;
    }
    return [{ stride: first.stride, degree }];
  });
  return [...single, ...joined];
}

/** Large gangs on large fabrics took their time to be split; what that took they have less for swaps. */
function swapOperations(units: number, taken: number): number {
  const left = Math.max(FEWEST_SWAP_OPERATIONS, MOST_SWAP_OPERATIONS - taken);
  return Math.min(left, SWAP_OPERATIONS_PER_PAIR * units ** 2);
}

interface SplitsToTry {
  /** Empty where there is no room. */
  readonly splits: readonly Split[];
  /** No arrangement costs less. */
  readonly least: number;
}

/**
 * The split that keeps most by the table, and those that keep whole lines together on switches of some level: how well lines fit into what is free is
 * what the table does not know.
 */
function splitsToTry(
  units: GangUnits,
  tree: SwitchTree,
  { grid, acrossIslands }: { readonly grid: UnitGrid; readonly acrossIslands: AcrossIslands },
): SplitsToTry {
  const rooms = levelRooms(tree);
  const largest = mostBesideOthers(rooms, units.count);
  const hasTable = units.count * largest <= MOST_TABLE_ENTRIES;
  const all = { units: units.count, bytes: hasTable ? bytesBetweenUnits(grid) : units.count ** 2 };
  const kept = hasTable ? mostKept(grid, largest) : Float64Array.from({ length: largest + 1 }, (_, x) => x * x);
  const question = {
    tree,
    units: units.count,
    kept: weightedAtLevels(kept, rooms, all),
    islandTakes: islandRule(units, acrossIslands),
    waste: wasteIn(all.bytes),
  };
  const widest = bestSplit(question);
  if (widest === undefined) return { splits: [], least: 0 };
  const most = Math.min(MOST_SPLITS, Math.floor(MOST_EXTRA_OPERATIONS / splitOperations(tree, units.count)));
  const multiples = divisorsOf(units.count)
    .filter((size) => size > 1 && size < units.count)
    .flatMap((size) => [0, 1, 2].map((level) => ({ level, units: size })))
    .filter(({ level, units: size }) => tree.bins.length > 1 && roomAt(tree.root, level) >= size)
    .slice(0, Math.max(0, most - 1));
  const isLarge = !hasTable || most < 4;
  const others = [
    ...(isLarge ? [] : [0.5, 0]).map((share) => {
      const counted = withRingsCutTwice(grid, share);
      const between = { units: units.count, bytes: bytesBetweenUnits(counted) };
      return bestSplit({ ...question, kept: weightedAtLevels(mostKept(counted, largest), rooms, between) });
    }),
    ...multiples.map((one) => {
      const besides = besideWholeLines(tree.root, units.count, one);
      return besides === undefined ? undefined : bestSplit({ ...question, multiples: { ...one, besides } });
    }),
  ];
  const least = hasTable ? (COST_WITHIN_LEVEL.at(-1) ?? 0) * all.bytes - widest.keptWeighted : 0;
  const splits = [widest, ...others.filter((split) => split !== undefined)];
  // Splits are often equal, and units are assigned in every order for each of them.
  return { splits: [...new Map(splits.map((split) => [split.unitsOfBin.join(), split])).values()], least };
}

/** Of the roomiest switch of a level. */
function roomAt(node: SwitchNode, level: number): number {
  if (node.level === level) return node.room;
  return node.children.reduce((most, child) => Math.max(most, roomAt(child, level)), 0);
}

interface AssignmentInputs {
  readonly units: GangUnits;
  readonly tree: SwitchTree;
  readonly graph: UnitGraph;
  readonly distances: BinDistances;
  readonly acrossIslands: AcrossIslands;
}

/** Cheapest arrangement over all splits, with units assigned to switches in each order. Stops when its operations are spent. */
function bestAssignment(
  assignment: AssignmentInputs,
  splits: readonly Split[],
  orders: readonly Int32Array[],
): Arrangement {
  const { graph, tree, distances } = assignment;
  const operationsPerAssignment = graph.neighbour.length + graph.first.length;
  let left = MOST_ASSIGNMENT_OPERATIONS;
  let best: Arrangement = { binOf: new Int32Array(), cost: Infinity };
  for (const { unitsOfBin } of splits) {
    for (const bins of binOrders(tree, unitsOfBin)) {
      for (const order of orders) {
        left -= operationsPerAssignment;
        if (left < 0 && best.cost < Infinity) return best;
        const binOf = assignUnits({ ...assignment, unitsOfBin }, bins, order);
        const cost = arrangementCost(graph, distances, binOf);
        if (cost < best.cost * (1 - 1e-9)) best = { binOf, cost };
      }
    }
  }
  return best;
}

/** The cheapest of all splits with lines kept whole. Whole lines may be no whole stages, so not where islands want these. */
function bestPacking(
  { tree, graph, distances, acrossIslands, units }: AssignmentInputs,
  splits: readonly Split[],
  grid: UnitGrid,
): Arrangement {
  let best: Arrangement = { binOf: new Int32Array(), cost: Infinity };
  let left = MOST_ASSIGNMENT_OPERATIONS;
  if (acrossIslands === 'pipeline') return best;
  const lines = lineOrders(grid, units.count);
  const ways = (['inOrder', 'wholeFirst'] as const).flatMap((fillOrder) =>
    splits.flatMap(({ unitsOfBin }) => lines.map((line) => ({ ...line, unitsOfBin, fillOrder: fillOrder, tree }))),
  );
  for (const way of ways) {
    if (way.fillOrder === 'wholeFirst' && !cutsLines(way)) continue;
    left -=
      graph.neighbour.length +
      graph.first.length +
      (OPERATIONS_PER_BIN_OF_LINE * tree.bins.length * units.count) / way.size;
    if (left < 0) return best;
    const binOf = packLines(way);
    const cost = arrangementCost(graph, distances, binOf);
    if (cost < best.cost * (1 - 1e-9)) best = { binOf, cost };
  }
  return best;
}

/** Which numbers of units an island may take. */
export function islandRule({ count, unitsPerRow }: GangUnits, acrossIslands: AcrossIslands): (x: number) => boolean {
  const rest = count % unitsPerRow;
  switch (acrossIslands) {
    case 'never':
      return (x) => x === 0 || x === count;
    case 'pipeline':
      return (x) => x % unitsPerRow === 0 || x % unitsPerRow === rest;
    case 'anyGroup':
      return () => true;
  }
}

/** Whole switches are worth keeping, and small remainders are worth less than large ones; never worth a byte that crosses. */
function wasteIn(allBytes: number): (node: SwitchNode, x: number) => number {
  const unit = 1e-9 * Math.max(1, allBytes);
  return ({ room, wholeRoom, bin }, x) => {
    const breaksWhole = room === wholeRoom && x < room ? 1 : 0;
    const remainder = (room - x) / (room + 1);
    return unit * (breaksWhole + remainder + 1e-4 * (bin?.leftGpus[x] ?? 0));
  };
}

/** Orders of bins to which units are assigned, switch by switch: as they are named, fullest switches first and emptiest first. */
function binOrders({ root }: SwitchTree, unitsOfBin: Int32Array): readonly (readonly number[])[] {
  const filled = filledBelow(root, unitsOfBin);
  return filled === undefined ? [] : [-1, 1, 0].map((sign) => binsIn(filled, sign));
}

interface Filled {
  readonly units: number;
  readonly bin: number | undefined;
  /** Those that take any. */
  readonly children: readonly Filled[];
}

function filledBelow({ bin, children }: SwitchNode, unitsOfBin: Int32Array): Filled | undefined {
  const below = children.flatMap((child) => filledBelow(child, unitsOfBin) ?? []);
  const units = bin === undefined ? below.reduce((sum, child) => sum + child.units, 0) : (unitsOfBin[bin.index] ?? 0);
  return units === 0 ? undefined : { units, bin: bin?.index, children: below };
}

function binsIn({ bin, children }: Filled, sign: number): readonly number[] {
  if (bin !== undefined) return [bin];
  const sorted = sign === 0 ? children : children.toSorted((one, other) => sign * (one.units - other.units));
  return sorted.flatMap((child) => binsIn(child, sign));
}

interface UnitAssignment {
  readonly units: GangUnits;
  readonly tree: SwitchTree;
  readonly unitsOfBin: Int32Array;
  readonly acrossIslands: AcrossIslands;
}

/** Where stages may not be cut, each island gets whole ones, next to each other; within it the order counts. */
function assignUnits(
  { units, tree, unitsOfBin, acrossIslands }: UnitAssignment,
  bins: readonly number[],
  order: Int32Array,
): Int32Array {
  const binOf = new Int32Array(units.count);
  const islandOf = tree.above[TREE_LEVELS.indexOf('island')];
  const byIsland = [...Map.groupBy(bins, (bin) => (acrossIslands === 'anyGroup' ? 0 : (islandOf?.[bin] ?? 0))).values()]
    .map((inside) => ({ inside, room: inside.reduce((sum, bin) => sum + (unitsOfBin[bin] ?? 0), 0) }))
    // The units after the last whole row come last.
    .sort((one, other) => Number(one.room % units.unitsPerRow > 0) - Number(other.room % units.unitsPerRow > 0));
  let first = 0;
  for (const { inside, room } of byIsland) {
    const last = first + room;
    const begin = first;
    const ordered = room === order.length ? order : order.filter((unit) => unit >= begin && unit < last);
    let at = 0;
    for (const bin of inside) {
      const end = at + (unitsOfBin[bin] ?? 0);
      for (; at < end; at++) binOf[ordered[at] ?? 0] = bin;
    }
    first = last;
  }
  return binOf;
}

function nodesOf(shape: GangShape, { bins }: SwitchTree, binOf: Int32Array): readonly string[] {
  const nextSlot = new Int32Array(bins.length);
  const nodes = [...binOf].flatMap((bin) => {
    const slot = nextSlot[bin] ?? 0;
    nextSlot[bin] = slot + 1;
    return bins[bin]?.slots[slot] ?? [];
  });
  return nodes.slice(0, shape.pods);
}
