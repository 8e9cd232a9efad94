import { bestSplit, type Split, splitOperations } from './best-split.ts';
import { BOUNDARY_WEIGHTS } from './boundary-weights.ts';
import { type PricedKept, pricedKept, pricedOperations, type SlabGrid } from './priced-kept.ts';
import { dearestCut, largestPieces, type SlabPrices } from './slab-prices.ts';
import { type SwitchNode, type SwitchTree, TREE_LEVELS } from './switch-tree.ts';

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

/** Rounds without progress after which steps are halved, and how often. */
const PATIENCE = 15;
const MOST_HALVINGS = 10;
/** Progress is this share of what is missing. */
const PROGRESS = 1e-4;

/**
 * The most weighted bytes that any placement keeps below switches, as prices for the pieces of slabs show it. Any prices give a bound; better ones are
 * looked for by going against the pieces of which switches take more than slabs are cut into (Polyak's subgradient steps towards `known`). Infinite
 * where there is no room. Proof: docs/reference/placement.md.
 */
export function mostKeptBySlabs(question: SlabQuestion): number {
  const { slabs, known } = question;
  const search = { ...question, largest: largestPieces(question.tree), active: activeLevels(question) };
  let prices: SlabPrices = TREE_LEVELS.map(() => new Float64Array(slabs.slabUnits + 1));
  let best = { most: Infinity, prices };
  let step = 1;
  let waited = 0;
  for (let left = question.operations; left > 0; left -= roundOperations(search)) {
    const { most, surplus } = priced(search, prices);
    waited = most < best.most - PROGRESS * (best.most - known) ? 0 : waited + 1;
    if (most < best.most) best = { most, prices };
    if (best.most <= known || surplus === undefined) break;
    if (waited > PATIENCE) {
      step /= 2;
      waited = 0;
      if (step < 2 ** -MOST_HALVINGS) break;
      prices = best.prices;
      continue;
    }
    prices = moved(prices, surplus, step * (most - known));
  }
  return best.most;
}

interface Search extends SlabQuestion {
  readonly largest: readonly number[];
  readonly active: readonly boolean[];
}

/** Levels of which the tree has several switches: elsewhere there is nothing to be cut. */
function activeLevels({ tree }: SlabQuestion): readonly boolean[] {
  const switches = TREE_LEVELS.map(() => 0);
  const visit = ({ level, room, bin, children }: SwitchNode): void => {
    if (level < switches.length && room > 0 && bin?.level !== 1) switches[level] = (switches[level] ?? 0) + 1;
    children.forEach(visit);
  };
  visit(tree.root);
  return switches.map((count) => count > 1);
}

function roundOperations({ slabs, tree, units, active }: Search): number {
  return active.filter(Boolean).length * pricedOperations(slabs, units) + splitOperations(tree, units);
}

interface Priced {
  readonly most: number;
  /** By level and size: pieces that slabs are cut into beyond those that switches take; undefined where there are none. */
  readonly surplus: readonly Float64Array[] | undefined;
}

/** The bound at these prices: what switches keep at most once they have paid, and what slabs cost at most. */
function priced(search: Search, prices: SlabPrices): Priced {
  const { slabs, tree, units, islandTakes, largest } = search;
  const tables = prices.map((ofLevel, level) =>
    pricedKept(slabs, BOUNDARY_WEIGHTS[TREE_LEVELS[level] ?? 'gpu'], ofLevel, units),
  );
  const kept = tables.map((table) => table.kept);
  const split = bestSplit({ tree, units, kept, alone: -(prices[0]?.[1] ?? 0), islandTakes });
  if (split === undefined) return { most: Infinity, surplus: undefined };
  const cut = dearestCut(prices, largest, slabs.slabUnits);
  const surplus = cut.pieces.map((ofLevel) => Float64Array.from(ofLevel, (pieces) => slabs.slabs * pieces));
  takeAway(surplus, split, tables);
  search.active.forEach((isActive, level) => isActive || surplus[level]?.fill(0));
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
function moved(prices: SlabPrices, surplus: readonly Float64Array[], missing: number): SlabPrices {
  const length = surplus.reduce(
    (sum, ofLevel) => sum + ofLevel.reduce((squares, pieces) => squares + pieces ** 2, 0),
    0,
  );
  return prices.map((ofLevel, level) =>
    ofLevel.map((price, size) => price - (missing / length) * (surplus[level]?.[size] ?? 0)),
  );
}
