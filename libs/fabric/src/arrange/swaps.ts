/** How does an arrangement of units get cheaper? Kinds of trades, drawn at random. */
import {
  type Arrangement,
  deltaOf,
  isTaken,
  newSearch,
  roomIn,
  settle,
  type SwapLimits,
  type SwapSearch,
  type SwapSetting,
  trade,
  type Trade,
} from './swap-search.ts';
import type { UnitAxis } from '../units/unit-grid.ts';

/**
 * Swaps units, or moves them to free places, as long as the cost falls. At first it also accepts some moves that cost more, so that the search
 * leaves a local minimum (simulated annealing, from one seed). Never worse than its input.
 */
export function improved(start: Arrangement, setting: SwapSetting, limits: SwapLimits): Arrangement {
  const search = newSearch(start, setting, limits);
  const units = start.binOf.length;
  const enough = limits.least + 1e-9 * Math.abs(limits.least);
  const hottest = (limits.temperature * start.cost) / units;
  while (search.operations < limits.operations && search.bestCost > enough) {
    const done = search.operations / limits.operations;
    const temperature = hottest * (1 - done) ** 3;
    const drawn = search.random();
    if (drawn < UP_TO_RUNS) tradeRuns(search, temperature);
    else if (drawn < UP_TO_PIECES) movePiece(search, temperature);
    else if (drawn < UP_TO_SWITCHES) moveBetweenSwitches(search, temperature);
    else step(search, temperature);
  }
  return { binOf: search.best, cost: search.bestCost };
}

/** Of all trades, the share that are runs; the same with pieces that move; and with those that move between switches. */
const UP_TO_RUNS = 0.2;
const UP_TO_PIECES = 0.4;
const UP_TO_SWITCHES = 0.55;

function step(search: SwapSearch, temperature: number): void {
  const { binOf, random, members, tree, limits } = search;
  search.operations += 4;
  const unit = Math.floor(random() * binOf.length);
  const from = binOf[unit] ?? 0;
  const to = targetOf(search, unit);
  const count = members.count[to] ?? 0;
  // An empty place may be drawn like a unit; going to a bin that nobody uses any more would scatter the gang.
  const room = count === 0 ? 0 : Math.min(1, (tree.bins[to]?.room ?? 0) - count);
  const drawn = Math.floor(random() * (count + room));
  if (to === from || count === 0 || !limits.mayTrade(from, to)) return;
  const other = drawn < count ? members.units[(members.first[to] ?? 0) + drawn] : undefined;
  const one = { unit, from, to, other };
  const delta = deltaOf(search, one);
  if (!isTaken(search, delta, temperature)) return;
  trade(search, one);
  settle(search, delta);
}

/** Two runs along an axis, as long as each other, change places; all of it or nothing. */
function tradeRuns(search: SwapSearch, temperature: number): void {
  const { binOf, random, limits } = search;
  search.operations += 4;
  const axis = limits.axes[Math.floor(random() * limits.axes.length)];
  if (axis === undefined) return;
  const length = 2 + Math.floor(random() * (axis.degree - 1));
  const one = startOfRun(axis, length, Math.floor(random() * binOf.length));
  const other = startOfRun(axis, length, Math.floor(random() * binOf.length));
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
  else undo(search, done);
}

/** Of a run of that length with the unit in it, as far along the axis as there is room for the rest. */
function startOfRun({ stride, degree }: UnitAxis, length: number, unit: number): number {
  const digit = Math.floor(unit / stride) % degree;
  return unit - Math.max(0, digit + length - degree) * stride;
}

/**
 * Moves the part of a line in one bin, or its end from a unit on, to bins with room, unused bins too. If a line is cut at another place, the rest may
 * lie beside a neighbour.
 */
function movePiece(search: SwapSearch, temperature: number): void {
  const { binOf, random, limits, tree } = search;
  search.operations += 4;
  const axis = limits.axes[Math.floor(random() * limits.axes.length)];
  if (axis === undefined) return;
  const unit = Math.floor(random() * binOf.length);
  const side = sideOf(random);
  const from = binOf[unit] ?? 0;
  const to = random() < 0.5 ? targetOf(search, unit) : Math.floor(random() * tree.bins.length);
  const room = roomIn(search, to);
  if (to === from || room === 0 || !limits.mayTrade(from, to)) return;
  const piece = pieceOf(search, unit, { ...axis, classOf: search.alone, side, most: room });
  if (piece === undefined) return;
  const done: Trade[] = [];
  const delta = moved(search, { units: piece, to, done });
  if (isTaken(search, delta, temperature)) settle(search, delta);
  else undo(search, done);
}

/** What it costs that the units go to the bin, which has room; they are moved, and `done` tells how. */
function moved(
  search: SwapSearch,
  { units, to, done }: { readonly units: readonly number[]; readonly to: number; readonly done: Trade[] },
): number {
  let delta = 0;
  for (const unit of units) {
    const next = { unit, from: search.binOf[unit] ?? 0, to, other: undefined };
    delta += deltaOf(search, next);
    trade(search, next);
    done.push(next);
  }
  return delta;
}

function undo(search: SwapSearch, done: Trade[]): void {
  for (const { unit, from, to, other } of done.reverse()) trade(search, { unit, from: to, to: from, other });
}

/** Of a unit in its line: those before it and itself, it and those after it, or both. */
type Side = 'before' | 'after' | 'both';
const SIDES: readonly Side[] = ['before', 'after', 'both'];

function sideOf(random: () => number): Side {
  return SIDES[Math.floor(random() * SIDES.length)] ?? 'both';
}

interface PieceAsked extends UnitAxis {
  readonly classOf: Int32Array;
  readonly side: Side;
  /** Longer ones are not wanted. */
  readonly most: number;
}

/** Units in the class of `unit` along the axis, one next to the other and round its end; undefined where they are more than `most`. */
function pieceOf({ binOf }: SwapSearch, unit: number, asked: PieceAsked): number[] | undefined {
  const { degree, stride, classOf, side, most } = asked;
  const digit = Math.floor(unit / stride) % degree;
  const first = unit - digit * stride;
  const at = (step: number): number => first + ((digit + step + degree) % degree) * stride;
  const here = classOf[binOf[unit] ?? 0];
  const isHere = (step: number): boolean => classOf[binOf[at(step)] ?? 0] === here;
  let begin = 0;
  let end = 1;
  if (side !== 'before') while (end < degree && end <= most && isHere(end)) end++;
  if (side !== 'after') while (end - begin < degree && end - begin <= most && isHere(begin - 1)) begin--;
  return end - begin > most ? undefined : Array.from({ length: end - begin }, (_, step) => at(begin + step));
}

/** What of a line lies below one switch goes below another one, into the room that its bins have, cut as little as that lets it. */
function moveBetweenSwitches(search: SwapSearch, temperature: number): void {
  const { binOf, random, limits, levels, used } = search;
  search.operations += 4;
  const axis = limits.axes[Math.floor(random() * limits.axes.length)];
  const level = levels[Math.floor(random() * levels.length)];
  if (axis === undefined || level === undefined) return;
  const unit = Math.floor(random() * binOf.length);
  const target = random() < 0.5 ? targetOf(search, unit) : (used[Math.floor(random() * used.length)] ?? 0);
  const { classOf, binsOf } = level;
  const from = binOf[unit] ?? 0;
  if (classOf[target] === classOf[from] || !limits.mayTrade(from, target)) return;
  const piece = pieceOf(search, unit, { ...axis, classOf, side: sideOf(random), most: Infinity }) ?? [];
  const bins = binsOf.get(classOf[target] ?? 0) ?? [];
  const done: Trade[] = [];
  let delta = 0;
  while (done.length < piece.length) {
    search.operations += bins.length;
    const left = piece.slice(done.length);
    const to = tightestBin(search, bins, left.length);
    if (to === undefined) break;
    delta += moved(search, { units: left.slice(0, roomIn(search, to)), to, done });
  }
  if (done.length === piece.length && isTaken(search, delta, temperature)) settle(search, delta);
  else undo(search, done);
}

/** Of those with room for so many the one with least, else the roomiest; undefined where there is none. */
function tightestBin(search: SwapSearch, bins: readonly number[], units: number): number | undefined {
  let best: number | undefined;
  let bestRoom = 0;
  for (const bin of bins) {
    const room = roomIn(search, bin);
    const isBetter = bestRoom >= units ? room >= units && room < bestRoom : room > bestRoom;
    if (!isBetter) continue;
    best = bin;
    bestRoom = room;
  }
  return best;
}

/** Mostly where a neighbour is, else any bin in use. */
function targetOf({ graph, binOf, used, random }: SwapSearch, unit: number): number {
  const start = graph.first[unit] ?? 0;
  const degree = (graph.first[unit + 1] ?? 0) - start;
  if (degree > 0 && random() < 0.7) {
    return binOf[graph.neighbour[start + Math.floor(random() * degree)] ?? 0] ?? 0;
  }
  return used[Math.floor(random() * used.length)] ?? 0;
}
