import type { GangUnits, UnitGroup, UnitTraffic } from './gang-units.ts';
import type { GroupTraffic } from '../traffic/traffic.ts';

/** An axis of the grid that the units of a gang form. */
export interface UnitAxis {
  readonly degree: number;
  /** Distance in units between neighbours. */
  readonly stride: number;
}

/** Lines that all look alike: one through each unit, along the axes named by their indexes. */
export interface GridTerm {
  readonly axes: readonly number[];
  readonly size: number;
  readonly pattern: TermPattern;
  /** Between two neighbours of a ring or chain, both directions together; of an all-to-all between any two. */
  readonly bytes: number;
}

/** cutTwice: a ring that counts as crossing twice if it is cut, and not at all if it is whole. */
export type TermPattern = GroupTraffic['pattern'] | 'cutTwice';

/** The grid with `share` of each ring's bytes counted pair by pair, and the rest as what crosses at least twice. */
export function withRingsCutTwice(grid: UnitGrid, share: number): UnitGrid {
  const terms = grid.terms.flatMap((term): readonly GridTerm[] =>
    term.pattern === 'ring'
      ? [
          { ...term, bytes: share * term.bytes },
          { ...term, pattern: 'cutTwice', bytes: (1 - share) * term.bytes },
        ]
      : [term],
  );
  return { ...grid, terms };
}

/**
 * Units as points of a mixed-radix grid, and the groups that are lines of it. Other groups, and groups along only some of the lines, are left out:
 * bounds for the bytes of the grid then hold for a part of the gang's bytes.
 */
export interface UnitGrid {
  readonly axes: readonly UnitAxis[];
  readonly terms: readonly GridTerm[];
}

/** Undefined where the units form no grid, such as where the last one is smaller. */
export function unitGrid(units: GangUnits): UnitGrid {
  const boxed = units.kinds.flatMap((kind) => {
    const box = boxOf(kind, units.count);
    return box === undefined ? [] : [box];
  });
  let kept: readonly Boxed[] = [];
  let borders: readonly number[] = [1, units.count];
  for (const box of boxed) {
    const more = [...new Set([...borders, ...box.sides.flatMap(({ stride, degree }) => [stride, stride * degree])])];
    more.sort((left, right) => left - right);
    if (!more.every((border, at) => at === 0 || border % (more[at - 1] ?? 1) === 0)) continue;
    borders = more;
    kept = [...kept, box];
  }
  const axes = borders.slice(1).map((border, at) => {
    const stride = borders[at] ?? 1;
    return { stride, degree: border / stride };
  });
  return { axes, terms: kept.map((box) => termOf(box, axes)) };
}

interface Boxed {
  readonly sides: readonly UnitAxis[];
  readonly pattern: GroupTraffic['pattern'];
  readonly bytes: number;
}

function termOf({ sides, pattern, bytes }: Boxed, axes: readonly UnitAxis[]): GridTerm {
  const within = axes.flatMap(({ stride, degree }, index) =>
    sides.some((side) => stride >= side.stride && stride * degree <= side.stride * side.degree) ? [index] : [],
  );
  const size = sides.reduce((product, { degree }) => product * degree, 1);
  return { axes: within, size, pattern, bytes };
}

/** The box that every group of the kind is, moved to another corner; undefined unless they are, and there is one through each unit. */
function boxOf(kind: UnitTraffic, count: number): Boxed | undefined {
  const shape = offsetsOf(kind.groups[0]);
  const sides = sidesOf(shape);
  if (sides === undefined) return undefined;
  const linesAt = new Map<number, number>();
  let fewestMembers = Infinity;
  for (const group of kind.groups) {
    const corner = group.units[0] ?? 0;
    if (group.units.length !== shape.length || group.units.some((unit, at) => unit - corner !== shape[at])) continue;
    linesAt.set(corner, (linesAt.get(corner) ?? 0) + 1);
    fewestMembers = Math.min(fewestMembers, ...group.members);
  }
  for (const corner of linesAt.keys()) {
    // A corner's coordinates along the box are zero, so lines of two corners are the same or apart.
    if (sides.some(({ stride, degree }) => Math.floor(corner / stride) % degree !== 0)) linesAt.delete(corner);
  }
  if (linesAt.size * shape.length !== count) return undefined;
  const lines = [...linesAt.values()].reduce((fewest, number) => Math.min(fewest, number), Infinity);
  const each = kind.pattern === 'allToAll' ? 2 * fewestMembers * fewestMembers : 1;
  return { sides, pattern: kind.pattern, bytes: lines * each * kind.bytesPerPair };
}

function offsetsOf(group: UnitGroup | undefined): readonly number[] {
  const first = group?.units[0] ?? 0;
  return (group?.units ?? []).map((unit) => unit - first);
}

/** Offsets as a box: `degree` steps of `stride`, then as often that as the next side says. */
function sidesOf(offsets: readonly number[]): readonly UnitAxis[] | undefined {
  if (offsets.length <= 1) return [];
  const stride = offsets[1] ?? 1;
  let degree = 2;
  while (degree < offsets.length && offsets[degree] === degree * stride) degree++;
  if (offsets.length % degree !== 0) return undefined;
  const corners = offsets.filter((_, at) => at % degree === 0);
  if (!offsets.every((offset, at) => offset === (corners[Math.floor(at / degree)] ?? 0) + (at % degree) * stride)) {
    return undefined;
  }
  const farther = sidesOf(corners);
  return farther === undefined ? undefined : [{ stride, degree }, ...farther];
}
