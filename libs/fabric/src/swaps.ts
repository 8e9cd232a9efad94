import type { UnitGraph } from './gang-units.ts';
import type { UnitAxis } from './unit-grid.ts';
import { COST_WITHIN_LEVEL, type SwitchTree } from './switch-tree.ts';

/** Where each unit is, and what that costs in weighted bytes between units. */
export interface Arrangement {
  readonly binOf: Int32Array;
  readonly cost: number;
}

/** Cost of a byte between units of two bins. */
export function binDistance({ bins, above }: SwitchTree, one: number, other: number): number {
  if (one === other) return COST_WITHIN_LEVEL[bins[one]?.level ?? 0] ?? 0;
  let level = 1;
  while (level < above.length - 1 && above[level]?.[one] !== above[level]?.[other]) level++;
  return COST_WITHIN_LEVEL[level] ?? 0;
}

/** Tables of all pairs of more bins take longer than they save. */
const MOST_BINS_IN_TABLE = 1_024;

/** What {@link binDistance} says of any two bins, looked up where they are few. */
export function distancesBetween(tree: SwitchTree): (one: number, other: number) => number {
  const bins = tree.bins.length;
  if (bins > MOST_BINS_IN_TABLE) return (one, other) => binDistance(tree, one, other);
  const table = new Float64Array(bins * bins);
  for (let one = 0; one < bins; one++) {
    for (let other = 0; other < bins; other++) table[one * bins + other] = binDistance(tree, one, other);
  }
  return (one, other) => table[one * bins + other] ?? 0;
}

export function arrangementCost(graph: UnitGraph, tree: SwitchTree, binOf: Int32Array): number {
  let twice = 0;
  const distance = (one: number, other: number): number => binDistance(tree, one, other);
  for (let unit = 0; unit < binOf.length; unit++)
    twice += costOfUnit({ graph, distance, binOf }, unit, binOf[unit] ?? 0);
  return twice / 2;
}

interface Standing {
  readonly graph: UnitGraph;
  /** Cost of a byte between units of two bins. */
  readonly distance: (one: number, other: number) => number;
  readonly binOf: Int32Array;
}

function costOfUnit({ graph, distance, binOf }: Standing, unit: number, bin: number): number {
  const { first, neighbour, bytes } = graph;
  let cost = 0;
  const end = first[unit + 1] ?? 0;
  for (let at = first[unit] ?? 0; at < end; at++) {
    cost += (bytes[at] ?? 0) * distance(bin, binOf[neighbour[at] ?? 0] ?? 0);
  }
  return cost;
}

export interface SwapLimits {
  /** Neighbours looked at in all; a count and not a clock, so that every run ends alike. */
  readonly operations: number;
  /** Whether a unit may stand in either's place: they share an island, or need not. */
  readonly mayTrade: (one: number, other: number) => boolean;
  /** Temperature of the first trade, as a share of the mean cost of a unit. */
  readonly heat: number;
  /** No arrangement costs less: whoever gets so far is done. */
  readonly least: number;
  /** Along these, runs of units change places too. */
  readonly axes: readonly UnitAxis[];
}

/**
 * Units change places, or go where there is room, as long as that costs less; at first now and then also where it costs more, so that the search does
 * not stay in the first hollow (simulated annealing, from one seed). Never worse than what it is given.
 */
export function improved(start: Arrangement, given: Given, limits: SwapLimits): Arrangement {
  const search = newSearch(start, given, limits);
  const units = start.binOf.length;
  const enough = limits.least + 1e-9 * Math.abs(limits.least);
  const hottest = (limits.heat * start.cost) / units;
  while (search.operations < limits.operations && search.bestCost > enough) {
    const done = search.operations / limits.operations;
    const temperature = hottest * (1 - done) ** 3;
    const drawn = search.random();
    if (drawn < SHARE_OF_RUNS) tradeRuns(search, temperature);
    else if (drawn < SHARE_OF_RUNS + SHARE_OF_PIECES) movePiece(search, temperature);
    else step(search, temperature);
  }
  return { binOf: search.best, cost: search.bestCost };
}

const SHARE_OF_RUNS = 0.2;
const SHARE_OF_PIECES = 0.2;

interface Given {
  readonly graph: UnitGraph;
  readonly tree: SwitchTree;
  readonly distance: (one: number, other: number) => number;
}

interface Search extends Standing {
  readonly tree: SwitchTree;
  readonly limits: SwapLimits;
  readonly membersOf: readonly number[][];
  readonly used: number[];
  readonly random: () => number;
  cost: number;
  best: Int32Array;
  bestCost: number;
  operations: number;
}

function newSearch(start: Arrangement, { graph, tree, distance }: Given, limits: SwapLimits): Search {
  const binOf = start.binOf.slice();
  const membersOf: number[][] = tree.bins.map(() => []);
  binOf.forEach((bin, unit) => membersOf[bin]?.push(unit));
  return {
    graph,
    tree,
    distance,
    binOf,
    limits,
    membersOf,
    used: membersOf.flatMap((members, bin) => (members.length > 0 ? [bin] : [])),
    random: seededRandom(0x2545f491),
    cost: start.cost,
    best: start.binOf,
    bestCost: start.cost,
    operations: 0,
  };
}

function step(search: Search, temperature: number): void {
  const { binOf, random, membersOf, tree, limits } = search;
  search.operations += 4;
  const unit = Math.floor(random() * binOf.length);
  const from = binOf[unit] ?? 0;
  const to = targetOf(search, unit);
  const members = membersOf[to] ?? [];
  // An empty place may be drawn like a unit; going to a bin that nobody uses any more would scatter the gang.
  const room = members.length === 0 ? 0 : Math.min(1, (tree.bins[to]?.room ?? 0) - members.length);
  const drawn = Math.floor(random() * (members.length + room));
  if (to === from || members.length === 0 || !limits.mayTrade(from, to)) return;
  const one = { unit, from, to, other: members[drawn] };
  const delta = deltaOf(search, one);
  if (!isTaken(search, delta, temperature)) return;
  trade(search, one);
  settle(search, delta);
}

function isTaken({ random }: Search, delta: number, temperature: number): boolean {
  return delta < 0 || (temperature > 0 && random() < Math.exp(-delta / temperature));
}

function settle(search: Search, delta: number): void {
  search.cost += delta;
  if (search.cost >= search.bestCost * (1 - 1e-9)) return;
  search.bestCost = search.cost;
  search.best = search.binOf.slice();
}

/** Two runs along an axis, as long as each other, change places; all of it or nothing. */
function tradeRuns(search: Search, temperature: number): void {
  const { binOf, random, limits } = search;
  search.operations += 4;
  const axis = limits.axes[Math.floor(random() * limits.axes.length)];
  if (axis === undefined) return;
  const length = 2 + Math.floor(random() * (axis.degree - 1));
  const startOf = (unit: number): number => {
    const digit = Math.floor(unit / axis.stride) % axis.degree;
    return unit - Math.max(0, digit + length - axis.degree) * axis.stride;
  };
  const one = startOf(Math.floor(random() * binOf.length));
  const other = startOf(Math.floor(random() * binOf.length));
  const done: Trade[] = [];
  let delta = 0;
  let mayGo = one !== other;
  for (let at = 0; at < length && mayGo; at++) {
    const unit = one + at * axis.stride;
    const mate = other + at * axis.stride;
    const from = binOf[unit] ?? 0;
    const to = binOf[mate] ?? 0;
    if (from === to) continue;
    mayGo = limits.mayTrade(from, to);
    const next = { unit, from, to, other: mate };
    delta += deltaOf(search, next);
    trade(search, next);
    done.push(next);
  }
  if (mayGo && done.length > 0 && isTaken(search, delta, temperature)) settle(search, delta);
  else
    for (const { unit, from, to, other: mate } of done.reverse())
      trade(search, { unit, from: to, to: from, other: mate });
}

/**
 * What of a line is in one bin, or its end from a unit on, goes where there is room for it, into bins that nobody uses too: a line that is cut elsewhere
 * may let the rest lie beside a neighbour.
 */
function movePiece(search: Search, temperature: number): void {
  const { binOf, random, limits, membersOf, tree } = search;
  search.operations += 4;
  const axis = limits.axes[Math.floor(random() * limits.axes.length)];
  if (axis === undefined) return;
  const unit = Math.floor(random() * binOf.length);
  const piece = pieceOf(search, unit, axis);
  const from = binOf[unit] ?? 0;
  const to = random() < 0.5 ? targetOf(search, unit) : Math.floor(random() * tree.bins.length);
  const room = (tree.bins[to]?.room ?? 0) - (membersOf[to]?.length ?? 0);
  if (to === from || room < piece.length || !limits.mayTrade(from, to)) return;
  let delta = 0;
  for (const one of piece) {
    const next = { unit: one, from, to, other: undefined };
    delta += deltaOf(search, next);
    trade(search, next);
  }
  if (isTaken(search, delta, temperature)) settle(search, delta);
  else for (const one of piece.reverse()) trade(search, { unit: one, from: to, to: from, other: undefined });
}

/** Units in the bin of `unit` along the axis, one next to the other: those before it, those after it, or all. */
function pieceOf({ binOf, random }: Search, unit: number, { degree, stride }: UnitAxis): number[] {
  const digit = Math.floor(unit / stride) % degree;
  const bin = binOf[unit];
  const piece = [unit];
  const part = Math.floor(random() * 3);
  if (part !== 0) {
    for (let at = 1; digit + at < degree && binOf[unit + at * stride] === bin; at++) piece.push(unit + at * stride);
  }
  if (part !== 1) {
    for (let at = 1; digit - at >= 0 && binOf[unit - at * stride] === bin; at++) piece.push(unit - at * stride);
  }
  return piece;
}

/** Mostly where a neighbour is, else any bin in use. */
function targetOf({ graph, binOf, used, random }: Search, unit: number): number {
  const start = graph.first[unit] ?? 0;
  const degree = (graph.first[unit + 1] ?? 0) - start;
  if (degree > 0 && random() < 0.7) {
    return binOf[graph.neighbour[start + Math.floor(random() * degree)] ?? 0] ?? 0;
  }
  return used[Math.floor(random() * used.length)] ?? 0;
}

interface Trade {
  readonly unit: number;
  readonly from: number;
  readonly to: number;
  /** Goes the other way; undefined where there is room. */
  readonly other: number | undefined;
}

function deltaOf(search: Search, { unit, from, to, other }: Trade): number {
  const { graph, distance } = search;
  let delta = costOfUnit(search, unit, to) - costOfUnit(search, unit, from);
  search.operations += 2 * ((graph.first[unit + 1] ?? 0) - (graph.first[unit] ?? 0));
  if (other === undefined) return delta;
  delta += costOfUnit(search, other, from) - costOfUnit(search, other, to);
  const end = graph.first[other + 1] ?? 0;
  search.operations += 2 * (end - (graph.first[other] ?? 0));
  // Between the two nothing changes but which is where; above each was taken to come to where the other still is.
  for (let at = graph.first[other] ?? 0; at < end; at++) {
    if (graph.neighbour[at] !== unit) continue;
    const apart = 2 * distance(from, to);
    delta += (graph.bytes[at] ?? 0) * (apart - distance(from, from) - distance(to, to));
  }
  return delta;
}

function trade({ binOf, membersOf }: Search, { unit, from, to, other }: Trade): void {
  const leaving = membersOf[from] ?? [];
  const coming = membersOf[to] ?? [];
  leaving.splice(leaving.indexOf(unit), 1);
  coming.push(unit);
  binOf[unit] = to;
  if (other === undefined) return;
  coming.splice(coming.indexOf(other), 1);
  leaving.push(other);
  binOf[other] = from;
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
