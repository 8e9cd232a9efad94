import { keptExactly, MOST_POINTS } from '../units/kept-exactly.ts';
import { addLines, gainsOf, mostKept, withLayer } from '../units/most-kept.ts';
import type { GridTerm, UnitGrid } from '../units/unit-grid.ts';

/** A grid seen as slabs: the points that differ in the first axes alone, and the axes along which such slabs are piled. */
export interface SlabGrid {
  readonly grid: UnitGrid;
  /** Indexes of the axes within a slab. */
  readonly within: readonly number[];
  /** Of the others, in the order in which they are merged. */
  readonly piled: readonly number[];
  readonly slabUnits: number;
  readonly slabs: number;
  /** The most bytes that so many units of one slab keep among themselves. */
  readonly keptOfSlab: Float64Array;
}

/** What units keep where pieces of slabs cost something, and which pieces do it. */
export interface PricedKept {
  /** By units: the most weighted bytes, less the prices of the pieces. */
  readonly kept: Float64Array;
  /** Units of each piece, of those `x` units that keep most. */
  readonly piecesOf: (x: number) => readonly number[];
}

/** `isEachAlone`: no two units share an NVLink domain. */
export function slabGrid(
  grid: UnitGrid,
  { within, piled, isEachAlone }: Pick<SlabGrid, 'within' | 'piled'> & { readonly isEachAlone: boolean },
): SlabGrid {
  const degreeOf = (axis: number): number => grid.axes[axis]?.degree ?? 1;
  const slabUnits = within.reduce((product, axis) => product * degreeOf(axis), 1);
  const inside = grid.terms
    .filter(({ axes }) => axes.every((axis) => within.includes(axis)))
    .map((term) => ({ ...term, axes: term.axes.map((axis) => within.indexOf(axis)) }));
  const slab = { axes: within.flatMap((axis) => grid.axes[axis] ?? []), terms: inside };
  return {
    grid,
    within,
    piled,
    slabUnits,
    slabs: piled.reduce((product, axis) => product * degreeOf(axis), 1),
    keptOfSlab: isEachAlone && slabUnits <= MOST_POINTS ? keptExactly(slab) : mostKept(slab, slabUnits),
  };
}

/** Operations of {@link pricedKept}. */
export function pricedOperations({ grid, piled, slabUnits }: SlabGrid, largest: number): number {
  let layer = slabUnits;
  let operations = 0;
  for (const axis of piled) {
    const degree = grid.axes[axis]?.degree ?? 1;
    operations += (Math.min(layer, largest) + 1) * degree * (largest + 1);
    layer *= degree;
  }
  return operations;
}

/**
 * Like {@link mostKept}, for weighted bytes, where a set pays `prices[s]` for each slab that has `s` of its units. The bytes that a slab keeps need
 * not be a convex function: they are only summed.
 */
export function pricedKept(slabs: SlabGrid, weight: number, prices: Float64Array, largest: number): PricedKept {
  const { grid, within, piled, slabUnits, keptOfSlab } = slabs;
  const ofSlab = new Float64Array(largest + 1).fill(-Infinity);
  for (let units = 0; units <= Math.min(slabUnits, largest); units++) {
    ofSlab[units] = weight * (keptOfSlab[units] ?? 0) - (prices[units] ?? 0);
  }
  let priced: PricedKept = { kept: ofSlab, piecesOf: (x) => (x > 0 ? [x] : []) };
  const inside = new Set(within);
  const weighted = grid.terms.map((term): GridTerm => ({ ...term, bytes: weight * term.bytes }));
  const pending = new Set(weighted.filter(({ axes }) => !axes.every((axis) => inside.has(axis))));
  let layer = slabUnits;
  for (const axis of piled) {
    const degree = grid.axes[axis]?.degree ?? 1;
    inside.add(axis);
    const own = [...pending].filter(({ axes }) => axes.length === 1 && axes[0] === axis);
    priced = piledUp(priced, { layer, degree, gains: gainsOf(own, degree) });
    const now = [...pending].filter((term) => !own.includes(term) && term.axes.every((one) => inside.has(one)));
    for (const term of now) addLines(priced.kept, term);
    for (const term of [...own, ...now]) pending.delete(term);
    layer *= degree;
  }
  return priced;
}

interface Pile {
  readonly layer: number;
  readonly degree: number;
  readonly gains: readonly number[];
}

/** The best pile of layers, none larger than the one below it, and how it was made. */
function piledUp(below: PricedKept, { layer, degree, gains }: Pile): PricedKept {
  const columns = below.kept.length;
  const widest = Math.min(layer, columns - 1);
  let above = new Float64Array((widest + 1) * columns).fill(-Infinity);
  for (let width = 0; width <= widest; width++) above[width * columns] = 0;
  const fromHeight: Float64Array[] = [];
  for (let height = degree - 1; height >= 0; height--) {
    above = withLayer(above, { kept: below.kept, widest, gain: gains[height] ?? 0 });
    fromHeight[height] = above;
  }
  const piecesOf = (x: number): readonly number[] =>
    layersOf(fromHeight, { widest, columns, units: x }).flatMap(below.piecesOf);
  return { kept: above.slice(widest * columns), piecesOf };
}

interface Layers {
  readonly widest: number;
  readonly columns: number;
  readonly units: number;
}

/** Units of each layer of the best pile: the narrowest that does as well is the one that was laid. */
function layersOf(fromHeight: readonly Float64Array[], { widest, columns, units }: Layers): readonly number[] {
  const layers: number[] = [];
  let width = widest;
  let left = units;
  for (const piles of fromHeight) {
    while (width > 0 && piles[(width - 1) * columns + left] === piles[width * columns + left]) width--;
    if (width === 0 || left === 0) break;
    layers.push(width);
    left -= width;
  }
  return layers;
}
