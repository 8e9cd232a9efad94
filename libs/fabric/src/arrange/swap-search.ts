/** Where do the units stand, and what does it cost if some of them trade places? What a search by trades keeps, and a trade. */
import { type BinDistances, distance } from '../units/bin-distances.ts';
import type { UnitGraph } from '../units/gang-units.ts';
import type { SwitchTree } from '../units/switch-tree.ts';
import type { UnitAxis } from '../units/unit-grid.ts';

/** Where each unit is, and what that costs in weighted bytes between units. */
export interface Arrangement {
  readonly binOf: Int32Array;
  readonly cost: number;
}

/** How long and how widely a search swaps units. */
export interface SwapLimits {
  /** Neighbours looked at in all; a count and not a clock, so that every run ends alike. */
  readonly operations: number;
  /** Whether a unit may stand in either's place: they share an island, or need not. */
  readonly mayTrade: (one: number, other: number) => boolean;
  /** Temperature of the first trade, as a share of the mean cost of a unit. */
  readonly temperature: number;
  /** A lower bound of the cost: a search that reaches it is done. */
  readonly least: number;
  /** Along these, runs of units change places too. */
  readonly axes: readonly UnitAxis[];
}

/** What the cost of an arrangement depends on besides the bin of each unit. */
export interface SwapSetting {
  readonly graph: UnitGraph;
  readonly distances: BinDistances;
}

/** Switches of a level that has several, each with more than one bin. */
export interface SwitchLevel {
  /** By bin. */
  readonly classOf: Int32Array;
  readonly binsOf: ReadonlyMap<number, readonly number[]>;
}

function levelsOf({ bins, above }: SwitchTree): readonly SwitchLevel[] {
  return above
    .map((classOf) => ({
      classOf,
      binsOf: Map.groupBy(
        bins.map(({ index }) => index),
        (bin) => classOf[bin] ?? 0,
      ),
    }))
    .filter(({ binsOf }) => binsOf.size > 1 && binsOf.size < bins.length);
}

/** Units of each bin, so that one is drawn and moved at once: those of bin `b` stand at `[first[b], first[b] + count[b])`, unit `u` at `at[u]`. */
interface BinMembers {
  readonly units: Int32Array;
  readonly at: Int32Array;
  readonly first: Int32Array;
  readonly count: Int32Array;
}

function binMembers({ bins }: SwitchTree, binOf: Int32Array): BinMembers {
  const first = new Int32Array(bins.length);
  let room = 0;
  for (const bin of bins) {
    first[bin.index] = room;
    room += bin.room;
  }
  const members = {
    units: new Int32Array(room),
    at: new Int32Array(binOf.length),
    first,
    count: new Int32Array(bins.length),
  };
  binOf.forEach((bin, unit) => join(members, unit, bin));
  return members;
}

function join({ units, at, first, count }: BinMembers, unit: number, bin: number): void {
  const place = (first[bin] ?? 0) + (count[bin] ?? 0);
  units[place] = unit;
  at[unit] = place;
  count[bin] = (count[bin] ?? 0) + 1;
}

function leave({ units, at, first, count }: BinMembers, unit: number, bin: number): void {
  const left = (count[bin] ?? 0) - 1;
  const last = units[(first[bin] ?? 0) + left] ?? 0;
  const place = at[unit] ?? 0;
  units[place] = last;
  at[last] = place;
  count[bin] = left;
}

/** State of one search: the current bin of each unit and the cost of that, in weighted bytes. */
export interface SwapSearch extends SwapSetting {
  readonly binOf: Int32Array;
  readonly tree: SwitchTree;
  readonly limits: SwapLimits;
  readonly members: BinMembers;
  /** Bins that take any unit at the start. */
  readonly used: readonly number[];
  readonly levels: readonly SwitchLevel[];
  /** By bin: itself. */
  readonly alone: Int32Array;
  readonly random: () => number;
  cost: number;
  readonly best: Int32Array;
  bestCost: number;
  /** Units that moved since the best was found, perhaps several times; where there are more than it holds, `movedCount` is larger. */
  readonly moved: Int32Array;
  movedCount: number;
  operations: number;
}

/** Starts a search from a copy of `start`, which stays as it is. */
export function newSearch(start: Arrangement, { graph, distances }: SwapSetting, limits: SwapLimits): SwapSearch {
  const { tree } = distances;
  const binOf = start.binOf.slice();
  const members = binMembers(tree, binOf);
  return {
    graph,
    tree,
    distances,
    binOf,
    limits,
    levels: levelsOf(tree),
    alone: Int32Array.from(tree.bins, ({ index }) => index),
    members,
    used: tree.bins.flatMap(({ index }) => ((members.count[index] ?? 0) > 0 ? [index] : [])),
    random: seededRandom(0x2545f491),
    cost: start.cost,
    best: start.binOf.slice(),
    bestCost: start.cost,
    moved: new Int32Array(binOf.length),
    movedCount: 0,
    operations: 0,
  };
}

/** A unit moves from one bin to another, and `other` moves the opposite way. */
export interface Trade {
  readonly unit: number;
  readonly from: number;
  readonly to: number;
  /** Goes the other way; undefined where there is room. */
  readonly other: number | undefined;
}

/** What it costs more that a unit is in `to` instead of `from`, all others standing where they do. */
function costOfMove({ graph, distances, binOf }: SwapSearch, unit: number, from: number, to: number): number {
  const { first, neighbour, bytes } = graph;
  let cost = 0;
  const end = first[unit + 1] ?? 0;
  for (let at = first[unit] ?? 0; at < end; at++) {
    const other = binOf[neighbour[at] ?? 0] ?? 0;
    cost += (bytes[at] ?? 0) * (distance(distances, to, other) - distance(distances, from, other));
  }
  return cost;
}

/** What the trade costs, or saves where it is negative. */
export function deltaOf(search: SwapSearch, { unit, from, to, other }: Trade): number {
  const { graph, distances } = search;
  let delta = costOfMove(search, unit, from, to);
  search.operations += 2 * ((graph.first[unit + 1] ?? 0) - (graph.first[unit] ?? 0));
  if (other === undefined) return delta;
  delta += costOfMove(search, other, to, from);
  const end = graph.first[other + 1] ?? 0;
  search.operations += 2 * (end - (graph.first[other] ?? 0));
  // Between the two nothing changes but which is where; above each was taken to come to where the other still is.
  for (let at = graph.first[other] ?? 0; at < end; at++) {
    if (graph.neighbour[at] !== unit) continue;
    const apart = 2 * distance(distances, from, to);
    delta += (graph.bytes[at] ?? 0) * (apart - distance(distances, from, from) - distance(distances, to, to));
  }
  return delta;
}

/** Makes the trade. The cost stays as it was until {@link settle} adds the difference. */
export function trade(search: SwapSearch, { unit, from, to, other }: Trade): void {
  const { members } = search;
  leave(members, unit, from);
  if (other !== undefined) {
    leave(members, other, to);
    join(members, other, from);
    stand(search, other, from);
  }
  join(members, unit, to);
  stand(search, unit, to);
}

function stand(search: SwapSearch, unit: number, bin: number): void {
  const { moved, movedCount } = search;
  search.binOf[unit] = bin;
  if (movedCount < moved.length) moved[movedCount] = unit;
  search.movedCount++;
}

/** Number of units that the bin can still take. */
export function roomIn({ tree, members }: SwapSearch, bin: number): number {
  return (tree.bins[bin]?.room ?? 0) - (members.count[bin] ?? 0);
}

/** Whether a trade is made that costs so much: always where it saves. */
export function isTaken({ random }: SwapSearch, delta: number, temperature: number): boolean {
  return delta < 0 || (temperature > 0 && random() < Math.exp(-delta / temperature));
}

/** A trade that was made is kept. */
export function settle(search: SwapSearch, delta: number): void {
  search.cost += delta;
  if (search.cost >= search.bestCost * (1 - 1e-9)) return;
  search.bestCost = search.cost;
  keepAsBest(search);
}

/** Few units move between one best and the next, so that these are cheaper to copy than all. */
function keepAsBest(search: SwapSearch): void {
  const { best, binOf, moved, movedCount } = search;
  if (movedCount > moved.length) best.set(binOf);
  else {
    for (let at = 0; at < movedCount; at++) {
      const unit = moved[at] ?? 0;
      best[unit] = binOf[unit] ?? 0;
    }
  }
  search.movedCount = 0;
}

/** Numbers in [0, 1), the same for one seed (xorshift32, G. Marsaglia 2003). */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
