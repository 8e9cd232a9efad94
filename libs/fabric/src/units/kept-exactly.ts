/** What do points of a small grid keep at most, if rings run in the order of the points? */
import type { GridTerm, UnitGrid } from './unit-grid.ts';

/** Sets of more points are too many to look at. */
export const MOST_POINTS = 18;

interface Pair {
  /** The lower of the two. */
  readonly other: number;
  readonly bytes: number;
}

/**
 * The most bytes that `x` points exchange among themselves, for each `x`, by looking at every set of them: of rings along two axes no set is good for
 * both at once. Holds where no two points share an NVLink domain, since a ring goes through all members in a domain before the next. Of grids up to
 * `MOST_POINTS`.
 */
export function keptExactly(grid: UnitGrid): Float64Array {
  const points = grid.axes.reduce((product, { degree }) => product * degree, 1);
  const lower = pairsBelow(grid, points);
  const kept = new Float64Array(2 ** points);
  const most = new Float64Array(points + 1);
  for (let set = 1; set < kept.length; set++) {
    const top = 31 - Math.clz32(set);
    let bytes = kept[set - 2 ** top] ?? 0;
    for (const pair of lower[top] ?? []) if ((set >> pair.other) & 1) bytes += pair.bytes;
    kept[set] = bytes;
    const size = bitsOf(set);
    most[size] = Math.max(most[size] ?? 0, bytes);
  }
  return most;
}

/** Of each point the pairs with lower ones, along all lines through it. */
function pairsBelow(grid: UnitGrid, points: number): readonly (readonly Pair[])[] {
  const below: Pair[][] = Array.from({ length: points }, () => []);
  for (const term of grid.terms) {
    for (const line of linesOf(grid, term, points)) {
      for (const [one, other] of pairsOf(term, line)) {
        below[Math.max(one, other)]?.push({ other: Math.min(one, other), bytes: term.bytes });
      }
    }
  }
  return below;
}

/** Points that differ along the axes of the term alone, ascending. */
function linesOf({ axes }: UnitGrid, term: GridTerm, points: number): Iterable<readonly number[]> {
  const outside = (point: number): string => {
    let left = point;
    const digits = axes.map(({ degree }) => {
      const digit = left % degree;
      left = Math.floor(left / degree);
      return digit;
    });
    return digits.filter((_, axis) => !term.axes.includes(axis)).join();
  };
  return Map.groupBy(
    Array.from({ length: points }, (_, point) => point),
    outside,
  ).values();
}

function pairsOf({ pattern }: GridTerm, line: readonly number[]): readonly (readonly [number, number])[] {
  if (pattern === 'allToAll') return line.flatMap((one, at) => line.slice(0, at).map((other) => [one, other] as const));
  const next = line.slice(1).map((one, at) => [line[at] ?? 0, one] as const);
  // Of two members a ring has a pair in each direction.
  return pattern === 'ring' ? [...next, [line.at(-1) ?? 0, line[0] ?? 0]] : next;
}

function bitsOf(set: number): number {
  let bits = 0;
  for (let left = set; left > 0; left &= left - 1) bits++;
  return bits;
}
