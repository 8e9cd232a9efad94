import { bestSplit, joinOperations, keptByAll, type Split } from '../units/best-split.ts';
import { BOUNDARY_WEIGHTS } from '../traffic/boundary-weights.ts';
import { type LevelRoom, levelRooms } from '../units/level-rooms.ts';
import { bytesBetweenUnits } from '../units/most-kept.ts';
import { type PricedKept, pricedKept, pricedOperations, type SlabGrid } from './priced-kept.ts';
import { cutOperations, dearestCut, type SlabPrices } from './slab-prices.ts';
import { type SwitchTree, TREE_LEVELS } from '../units/switch-tree.ts';

/** The grid of units, the switches and the limits of one search for a bound. */
export interface SlabQuestion {
  readonly slabs: SlabGrid;
  readonly tree: SwitchTree;
  readonly units: number;
  readonly islandTakes: (x: number) => boolean;
  /** Weighted bytes kept by a placement that is known: no bound can be below, so getting there is the end. */
  readonly known: number;
  /** Operations after which the best so far has to do. */
  readonly operations: number;
}

/** Of what is missing to `known`, the share by which the first step would bring the bound nearer if it were as steep all the way. */
const FIRST_STEP = 0.5;
const LONGEST_STEP = 2;
/** Shorter ones bring nothing that counts. */
const SHORTEST_STEP = 1e-4;
/** Steps grow by this after one that went well, and shrink by the other after so many that did not. */
const LONGER = 1.1;
const SHORTER = 0.66;
const PATIENCE = 10;
/** Of the surplus that is gone against, at most this is the last round's; the rest is what rounds before had. */
const NEWEST_SHARE = 0.1;

/**
 * The most weighted bytes that any placement keeps below switches, as prices for the pieces of slabs show it. Any prices give a bound. The
 * search improves on the best prices so far: it moves against the pieces that switches take more often than slabs are cut into them. It uses the mean of
 * many rounds, because single rounds lead back and forth across a ridge (volume algorithm, F. Barahona and R. Anbil, Math. Programming 87, 2000).
 * Infinite if there is no room. Proof: docs/reference/placement.md.
 */
export function mostKeptBySlabs(question: SlabQuestion): number {
  const { slabs, known } = question;
  const search = newSearch(question);
  const perRound = roundOperations(search);
  if (perRound > question.operations) return Infinity;
  const descent = newDescent(
    search,
    TREE_LEVELS.map(() => new Float64Array(slabs.slabUnits + 1)),
  );
  for (let left = question.operations - perRound; left > 0 && descent.most > known; left -= perRound) {
    const length = descent.mean === undefined ? 0 : inner(descent.mean, descent.mean);
    if (descent.mean === undefined || length === 0 || descent.step < SHORTEST_STEP) break;
    const far = (descent.step * (descent.most - known)) / length;
    takeRound(descent, search, moved(descent.prices, descent.mean, far));
  }
  return descent.most;
}

/** By level and size: pieces that slabs are cut into beyond those that switches take. */
type Surplus = readonly Float64Array[];

interface Descent {
  /** The best so far. */
  prices: SlabPrices;
  most: number;
  /** Undefined once prices were found at which nothing is left over: none are better. */
  mean: Surplus | undefined;
  step: number;
  /** Rounds since the last change of the step or of the best. */
  waited: number;
}

function newDescent(search: Search, prices: SlabPrices): Descent {
  const { most, surplus } = priced(search, prices);
  return { prices, most, mean: surplus, step: FIRST_STEP, waited: 0 };
}

function takeRound(descent: Descent, search: Search, prices: SlabPrices): void {
  const { most, surplus } = priced(search, prices);
  const { mean } = descent;
  descent.mean = mean === undefined || surplus === undefined ? undefined : mixed(mean, surplus);
  if (most < descent.most) {
    descent.most = most;
    descent.prices = prices;
    descent.waited = 0;
    const isStraightOn = mean !== undefined && surplus !== undefined && inner(mean, surplus) > 0;
    if (isStraightOn) descent.step = Math.min(LONGEST_STEP, descent.step * LONGER);
  } else if (++descent.waited >= PATIENCE) {
    descent.step *= SHORTER;
    descent.waited = 0;
  }
}

/** The mean with as much of the newest as makes it shortest, within bounds. */
function mixed(mean: Surplus, newest: Surplus): Surplus {
  const both = inner(mean, newest);
  const apart = inner(mean, mean) - 2 * both + inner(newest, newest);
  const ideal = apart <= 0 ? NEWEST_SHARE : (inner(mean, mean) - both) / apart;
  const share = Math.min(NEWEST_SHARE, Math.max(NEWEST_SHARE / 10, ideal));
  return mean.map((ofLevel, level) =>
    ofLevel.map((pieces, size) => (1 - share) * pieces + share * (newest[level]?.[size] ?? 0)),
  );
}

function inner(one: Surplus, other: Surplus): number {
  return one.reduce(
    (sum, ofLevel, level) =>
      sum + ofLevel.reduce((part, pieces, size) => part + pieces * (other[level]?.[size] ?? 0), 0),
    0,
  );
}

interface Search extends SlabQuestion {
  readonly rooms: readonly LevelRoom[];
  /** Units of the largest piece of each level; infinite where pieces have no price. */
  readonly largest: readonly number[];
  /** Tables of the levels where pieces have no price. */
  readonly unpriced: readonly (PricedKept | undefined)[];
}

/** Where a level has one switch or none there is nothing to be cut. */
function isPriced({ switches, holdsAll }: LevelRoom): boolean {
  return switches > 1 && !holdsAll;
}

function newSearch(question: SlabQuestion): Search {
  const { slabs, tree, units } = question;
  const rooms = levelRooms(tree);
  const all = bytesBetweenUnits(slabs.grid);
  const unpriced = rooms.map((room, level): PricedKept | undefined => {
    if (isPriced(room)) return undefined;
    const weight = BOUNDARY_WEIGHTS[TREE_LEVELS[level] ?? 'gpu'];
    if (room.holdsAll) return { kept: keptByAll({ units, bytes: weight * all }), piecesOf: () => [] };
    return pricedKept(slabs, weight, new Float64Array(slabs.slabUnits + 1), columnsOf(room, units));
  });
  const largest = rooms.map((room) => (isPriced(room) ? room.largest : Infinity));
  return { ...question, rooms, largest, unpriced };
}

/** No switch of the level takes more. */
function columnsOf({ largest }: LevelRoom, units: number): number {
  return Math.min(units, Math.max(1, largest));
}

function roundOperations({ slabs, tree, units, rooms, largest }: Search): number {
  const tables = rooms.filter(isPriced).map((room) => pricedOperations(slabs, columnsOf(room, units)));
  const cuts = cutOperations(largest, slabs.slabUnits);
  return tables.reduce((sum, operations) => sum + operations, cuts + joinOperations(tree, units));
}

interface Priced {
  readonly most: number;
  /** Undefined where there is none. */
  readonly surplus: Surplus | undefined;
}

const NO_PRICES = new Float64Array();

/** The bound at these prices: what switches keep at most once they have paid, and what slabs cost at most. */
function priced(search: Search, prices: SlabPrices): Priced {
  const { slabs, tree, units, islandTakes, largest, rooms, unpriced } = search;
  const tables = rooms.map((room, level) => {
    const weight = BOUNDARY_WEIGHTS[TREE_LEVELS[level] ?? 'gpu'];
    return unpriced[level] ?? pricedKept(slabs, weight, prices[level] ?? NO_PRICES, columnsOf(room, units));
  });
  const kept = tables.map((table) => table.kept);
  const split = bestSplit({ tree, units, kept, alone: -(prices[0]?.[1] ?? 0), islandTakes });
  if (split === undefined) return { most: Infinity, surplus: undefined };
  const cut = dearestCut(prices, largest, slabs.slabUnits);
  const surplus = cut.pieces.map((ofLevel) => Float64Array.from(ofLevel, (pieces) => slabs.slabs * pieces));
  takeAway(surplus, split, tables);
  rooms.forEach((room, level) => isPriced(room) || surplus[level]?.fill(0));
  const most = split.keptWeighted + slabs.slabs * cut.price;
  return { most, surplus: surplus.some((ofLevel) => ofLevel.some((pieces) => pieces !== 0)) ? surplus : undefined };
}

/** Of the surplus, the pieces that switches take. */
function takeAway(surplus: readonly Float64Array[], { taken }: Split, tables: readonly PricedKept[]): void {
  for (const { node, units } of taken) {
    // Units that have a domain to themselves are pieces of one there.
    const pieces = node.bin?.level === 1 ? Array<number>(units).fill(1) : (tables[node.level]?.piecesOf(units) ?? []);
    const ofLevel = surplus[node.level];
    if (ofLevel !== undefined) for (const size of pieces) ofLevel[size] = (ofLevel[size] ?? 0) - 1;
  }
}

/** Dearer where slabs are cut into fewer such pieces than switches take. */
function moved(prices: SlabPrices, surplus: Surplus, far: number): SlabPrices {
  return prices.map((ofLevel, level) => ofLevel.map((price, size) => price - far * (surplus[level]?.[size] ?? 0)));
}
