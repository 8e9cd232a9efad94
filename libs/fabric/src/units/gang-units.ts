import type { GangShape } from '../traffic/gang-shape.ts';
import type { GroupTraffic, LayoutTraffic } from '../traffic/traffic.ts';

/**
 * A gang as placement moves it: *units* of consecutive pods that share an NVLink domain because a tensor group runs through them (the blocks of
 * {@link GangShape}), and what the units send each other. The last unit may be smaller than the others.
 */
export interface GangUnits {
  readonly count: number;
  readonly podsPerUnit: number;
  /** Units `[i * unitsPerRow, (i + 1) * unitsPerRow)` share an island where stages may not be cut. */
  readonly unitsPerRow: number;
  readonly kinds: readonly UnitTraffic[];
}

/** Groups of one kind whose members are in several units. */
export interface UnitTraffic {
  readonly pattern: GroupTraffic['pattern'];
  readonly bytesPerPair: number;
  /** Units of each group, ascending, and how many members each unit holds. */
  readonly groups: readonly UnitGroup[];
}

/** Units of one group of ranks, and the members that each unit has in the group. */
export interface UnitGroup {
  readonly units: readonly number[];
  readonly members: readonly number[];
}

/** Groups the pods of a gang into units, and drops traffic that stays inside one unit. */
export function gangUnits(shape: GangShape, traffic: LayoutTraffic): GangUnits {
  const ranksPerUnit = shape.ranksPerPod * shape.podsPerBlock;
  return {
    count: Math.ceil(shape.pods / shape.podsPerBlock),
    podsPerUnit: shape.podsPerBlock,
    unitsPerRow: shape.blocksPerRow,
    kinds: traffic.byKind
      .map(({ pattern, bytesPerPair, groups }) => ({
        pattern,
        bytesPerPair,
        groups: groups.map((ranks) => unitsOf(ranks, ranksPerUnit)).filter(({ units }) => units.length > 1),
      }))
      .filter(({ groups, bytesPerPair }) => groups.length > 0 && bytesPerPair > 0),
  };
}

/** Ranks ascend, so members in one unit are neighbours in the group. */
function unitsOf(ranks: readonly number[], ranksPerUnit: number): UnitGroup {
  const units: number[] = [];
  const members: number[] = [];
  for (const rank of ranks) {
    const unit = Math.floor(rank / ranksPerUnit);
    if (units.at(-1) !== unit) {
      units.push(unit);
      members.push(0);
    }
    members.push((members.pop() ?? 0) + 1);
  }
  return { units, members };
}

/** Bytes between pairs of units, in both directions together: neighbours of unit `u` stand at `[first[u], first[u + 1])`. */
export interface UnitGraph {
  readonly first: Int32Array;
  readonly neighbour: Int32Array;
  readonly bytes: Float64Array;
}

/** All-to-alls over more units than this are the same wherever they lie but for the sizes of the parts, and are left out of the graph. */
const LARGEST_CLIQUE_UNITS = 512;

/** Adds up the bytes between each pair of units over all kinds of traffic. */
export function unitGraph({ count, kinds }: GangUnits): UnitGraph {
  const pairs = new Map<number, number>();
  const add = (one: number, other: number, bytes: number): void => {
    const key = one < other ? one * count + other : other * count + one;
    pairs.set(key, (pairs.get(key) ?? 0) + bytes);
  };
  for (const { pattern, bytesPerPair, groups } of kinds) {
    for (const group of groups) eachPair(pattern, group, (one, other, times) => add(one, other, times * bytesPerPair));
  }
  return graphOf(count, pairs);
}

function eachPair(
  pattern: GroupTraffic['pattern'],
  { units, members }: UnitGroup,
  visit: (one: number, other: number, times: number) => void,
): void {
  if (pattern !== 'allToAll') {
    const pairs = pattern === 'ring' ? units.length : units.length - 1;
    for (let at = 0; at < pairs; at++) visit(units[at] ?? 0, units[(at + 1) % units.length] ?? 0, 1);
    return;
  }
  if (units.length > LARGEST_CLIQUE_UNITS) return;
  for (let one = 0; one < units.length; one++) {
    for (let other = 0; other < one; other++) {
      visit(units[one] ?? 0, units[other] ?? 0, 2 * (members[one] ?? 0) * (members[other] ?? 0));
    }
  }
}

function graphOf(count: number, pairs: ReadonlyMap<number, number>): UnitGraph {
  const first = new Int32Array(count + 1);
  const ends = [...pairs].map(([key, bytes]) => ({ one: Math.floor(key / count), other: key % count, bytes }));
  for (const { one, other } of ends) {
    first[one + 1] = (first[one + 1] ?? 0) + 1;
    first[other + 1] = (first[other + 1] ?? 0) + 1;
  }
  for (let unit = 0; unit < count; unit++) first[unit + 1] = (first[unit + 1] ?? 0) + (first[unit] ?? 0);
  const next = first.slice();
  const neighbour = new Int32Array(ends.length * 2);
  const bytesOf = new Float64Array(ends.length * 2);
  const put = (from: number, to: number, bytes: number): void => {
    const at = next[from] ?? 0;
    next[from] = at + 1;
    neighbour[at] = to;
    bytesOf[at] = bytes;
  };
  for (const { one, other, bytes } of ends) {
    put(one, other, bytes);
    put(other, one, bytes);
  }
  return { first, neighbour, bytes: bytesOf };
}
