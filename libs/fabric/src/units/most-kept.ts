import type { GridTerm, UnitGrid } from './unit-grid.ts';

/**
 * The most bytes that `x` units can exchange among themselves, for each `x` up to `largest`, whichever units they are. An upper bound, proven in
 * docs/reference/placement.md; exact for grids of two axes.
 *
 * Axes are merged one after the other. A set of units is a pile of layers along the axis that is merged: layers keep what the axes before let them,
 * and columns what their heights let them. Of all sets with layers of these sizes, columns keep most where the layers lie upon each other, since what
 * a column keeps grows ever faster with its height. Any order of the axes gives a bound, so the least of several counts.
 */
export function mostKept(grid: UnitGrid, largest: number): Float64Array {
  const orders = permutations(grid.axes.map((_, index) => index));
  const bounds = orders.slice(0, ordersToTry(grid, largest)).map((order) => keptInOrder(grid, order, largest));
  const [first = new Float64Array(largest + 1), ...others] = bounds;
  for (const other of others) for (let x = 0; x <= largest; x++) first[x] = Math.min(first[x] ?? 0, other[x] ?? 0);
  return first;
}

/** Bytes between all units. */
export function bytesBetweenUnits({ axes, terms }: UnitGrid): number {
  const units = axes.reduce((product, { degree }) => product * degree, 1);
  return terms.reduce((sum, term) => sum + (units / term.size) * keptOfLine(term, term.size), 0);
}

const MOST_OPERATIONS = 60_000_000;

/** A grid takes units * largest operations per axis. */
function ordersToTry({ axes }: UnitGrid, largest: number): number {
  const units = axes.reduce((product, { degree }) => product * degree, 1);
  return Math.max(1, Math.min(24, Math.floor(MOST_OPERATIONS / (units * (largest + 1) * Math.max(1, axes.length)))));
}

/** All orders of the items: n! of them, so only for few items. */
export function permutations(items: readonly number[]): readonly (readonly number[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((item) => permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));
}

function keptInOrder({ axes, terms }: UnitGrid, order: readonly number[], largest: number): Float64Array {
  let kept: Float64Array = new Float64Array(largest + 1);
  let merged = 1;
  const inside = new Set<number>();
  const pending = new Set(terms);
  for (const axis of order) {
    const degree = axes[axis]?.degree ?? 1;
    inside.add(axis);
    const own = [...pending].filter((term) => term.axes.length === 1 && term.axes[0] === axis);
    kept = piled(kept, { layer: merged, degree, gains: gainsOf(own, degree) });
    merged *= degree;
    const now = [...pending].filter((term) => !own.includes(term) && term.axes.every((one) => inside.has(one)));
    for (const term of now) addLines(kept, term);
    for (const term of [...own, ...now]) pending.delete(term);
  }
  return kept;
}

/** What a column gains by each further unit, made to grow with its height: never less in sum than what it keeps. */
export function gainsOf(terms: readonly GridTerm[], degree: number): readonly number[] {
  const kept = (height: number): number => terms.reduce((sum, term) => sum + keptOfLine(term, height), 0);
  let most = 0;
  return Array.from({ length: degree }, (_, height) => (most = Math.max(most, kept(height + 1) - kept(height))));
}

/** The most that `x` units on one line keep among themselves. */
export function keptOfLine({ pattern, size, bytes }: GridTerm, x: number): number {
  if (x <= 0) return 0;
  if (pattern === 'cutTwice') return x >= size ? 2 * bytes : 0;
  if (pattern === 'allToAll') return (bytes * x * (x - 1)) / 2;
  return bytes * (pattern === 'ring' && x >= size ? size : x - 1);
}

/** Adds what lines through several merged axes keep: what one keeps grows ever faster, so most where lines are full. */
export function addLines(kept: Float64Array, term: GridTerm): void {
  const full = keptOfLine(term, term.size);
  for (let x = 0; x < kept.length; x++) {
    kept[x] = (kept[x] ?? 0) + Math.floor(x / term.size) * full + keptOfLine(term, x % term.size);
  }
}

interface Pile {
  /** Units of a layer. */
  readonly layer: number;
  readonly degree: number;
  /** What each unit of layer `j` adds to its column. */
  readonly gains: readonly number[];
}

/** The best pile of `degree` layers, none larger than the one below it. */
function piled(kept: Float64Array, { layer, degree, gains }: Pile): Float64Array {
  const largest = kept.length - 1;
  if (layer === 1) return firstAxis(gains, largest);
  const widest = Math.min(layer, largest);
  // best[width * (largest + 1) + x]: from this layer up, `x` units, no layer wider than `width`.
  let above = new Float64Array((widest + 1) * (largest + 1)).fill(-Infinity);
  for (let width = 0; width <= widest; width++) above[width * (largest + 1)] = 0;
  for (let height = degree - 1; height >= 0; height--) {
    above = withLayer(above, { kept, widest, gain: gains[height] ?? 0 });
  }
  return above.subarray(widest * (largest + 1), (widest + 1) * (largest + 1)).slice();
}

/**
 * One more layer below piles that are in `above`: there and in the answer `width * columns + x` is the pile of `x` units with no layer wider than
 * `width`.
 */
export function withLayer(
  above: Float64Array,
  { kept, widest, gain }: { readonly kept: Float64Array; readonly widest: number; readonly gain: number },
): Float64Array<ArrayBuffer> {
  const columns = kept.length;
  const best = new Float64Array(above.length);
  best.fill(-Infinity, 1, columns);
  for (let width = 1; width <= widest; width++) {
    const here = width * columns;
    const own = (kept[width] ?? 0) + width * gain;
    best.copyWithin(here, here - columns, here - columns + Math.min(width, columns));
    for (let x = width; x < columns; x++) {
      const without = best[here - columns + x] ?? -Infinity;
      const withIt = own + (above[here + x - width] ?? -Infinity);
      best[here + x] = withIt > without ? withIt : without;
    }
  }
  return best;
}

function firstAxis(gains: readonly number[], largest: number): Float64Array<ArrayBuffer> {
  const kept = new Float64Array(largest + 1).fill(-Infinity);
  kept[0] = 0;
  for (let x = 1; x <= Math.min(largest, gains.length); x++) kept[x] = (kept[x - 1] ?? 0) + (gains[x - 1] ?? 0);
  return kept;
}
