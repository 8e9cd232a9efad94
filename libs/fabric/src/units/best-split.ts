import { BOUNDARY_WEIGHTS } from '../traffic/boundary-weights.ts';
import type { LevelRoom } from './level-rooms.ts';
import { type SwitchNode, type SwitchTree, TREE_LEVELS } from './switch-tree.ts';
import type { WholeLines } from './whole-lines.ts';

/** The units to divide among switches, and what each switch keeps of their traffic. */
export interface SplitQuestion {
  readonly tree: SwitchTree;
  /** Units to be placed. */
  readonly units: number;
  /** By level of the switch: the most weighted bytes that `x` units below one keep there, for each `x` up to `units`. */
  readonly kept: readonly Float64Array[];
  /** What a unit adds that has an NVLink domain to itself; absent: nothing. */
  readonly alone?: number;
  /** Whether an island may take `x` of the units. */
  readonly islandTakes: (x: number) => boolean;
  /** Switches of this level take a multiple of so many units, so that whole lines of the grid stay together; those of some kinds other numbers too. */
  readonly multiples?: WholeLines & { readonly besides: ReadonlyMap<number, ReadonlySet<number>> };
  /** What is lost of the fabric by units on a switch, in weighted bytes; only to choose among splits. */
  readonly waste?: (node: SwitchNode, x: number) => number;
}

/** How many units go below each switch and into each bin. */
export interface Split {
  /** Weighted bytes kept below switches, less the waste: no placement keeps more. */
  readonly keptWeighted: number;
  /** Units of each bin. */
  readonly unitsOfBin: Int32Array;
  /** Switches and bins that take any. */
  readonly taken: readonly { readonly node: SwitchNode; readonly units: number }[];
}

/** All units of a gang together, and the bytes that they exchange. */
export interface AllUnits {
  readonly units: number;
  readonly bytes: number;
}

/** The same bytes kept at every level, weighted as each weighs them; of a switch that holds all units whatever they do, those of all alone. */
export function weightedAtLevels(
  kept: Float64Array,
  rooms: readonly LevelRoom[],
  { units, bytes }: AllUnits,
): readonly Float64Array[] {
  return TREE_LEVELS.map((boundary, level) => {
    const weight = BOUNDARY_WEIGHTS[boundary];
    return rooms[level]?.holdsAll === true
      ? keptByAll({ units, bytes: weight * bytes })
      : kept.map((some) => weight * some);
  });
}

/** What a switch keeps that takes all units, there being no other: no number of them but the last is ever asked for. */
export function keptByAll({ units, bytes }: AllUnits): Float64Array {
  const kept = new Float64Array(units + 1);
  kept[units] = bytes;
  return kept;
}

/** How many units go below each switch so that most weighted bytes can stay there; undefined where there is no room. */
export function bestSplit(question: SplitQuestion): Split | undefined {
  const { root } = question.tree;
  const solved = solve({ ...question, known: new Map() }, root);
  const keptWeighted = solved.best[question.units] ?? -Infinity;
  if (keptWeighted === -Infinity) return undefined;
  const unitsOfBin = new Int32Array(question.tree.bins.length);
  const taken: { node: SwitchNode; units: number }[] = [];
  hand({ node: root, solved }, question.units, { unitsOfBin, taken });
  return { keptWeighted, unitsOfBin, taken };
}

/** Operations that a split of these takes at most. */
export function splitOperations(tree: SwitchTree, units: number): number {
  return (tree.root.room + tree.bins.length) * units;
}

/** Operations that {@link bestSplit} takes: what each kind of switch's children are joined in. */
export function joinOperations({ root }: SwitchTree, units: number): number {
  let operations = 0;
  const seen = new Set<number>();
  const visit = (node: SwitchNode): void => {
    if (seen.has(node.kind)) return;
    seen.add(node.kind);
    let before = 1;
    for (const child of withRoom(node)) {
      const own = Math.min(units, child.room) + 1;
      operations += own * before;
      before = Math.min(units, before + own - 2) + 1;
      visit(child);
    }
  };
  visit(root);
  return operations;
}

interface Solved {
  /** By units. */
  readonly best: Float64Array;
  /** Of those that have room. */
  readonly children: readonly Solved[];
  /** Of each child: how many of `x` units of it and those before it are its own. */
  readonly own: readonly Int32Array[];
}

interface Solving extends SplitQuestion {
  /** By kind of switch. */
  readonly known: Map<number, Solved>;
}

function solve(question: Solving, node: SwitchNode): Solved {
  const before = question.known.get(node.kind);
  if (before !== undefined) return before;
  const solved = solveAnew(question, node);
  question.known.set(node.kind, solved);
  return solved;
}

function solveAnew(question: Solving, node: SwitchNode): Solved {
  const children = withRoom(node).map((child) => solve(question, child));
  const own: Int32Array[] = [];
  let best = new Float64Array([0]);
  if (node.bin !== undefined) best = new Float64Array(Math.min(question.units, node.room) + 1);
  for (const child of children) {
    const joined = join(best, child.best, question.units);
    own.push(joined.own);
    best = joined.best;
  }
  for (let x = 0; x < best.length; x++) best[x] = (best[x] ?? 0) + worth(question, node, x);
  return { best, children, own };
}

function withRoom({ children }: SwitchNode): readonly SwitchNode[] {
  return children.filter(({ room }) => room > 0);
}

/** What this switch itself adds. */
function worth({ kept, alone = 0, islandTakes, multiples, waste }: SplitQuestion, node: SwitchNode, x: number): number {
  if (multiples !== undefined && node.level === multiples.level && !mayTake(multiples, node, x)) return -Infinity;
  if (TREE_LEVELS[node.level] === 'island' && !islandTakes(x)) return -Infinity;
  // A bin of single domains keeps nothing that its leaf does not.
  const own = node.bin?.level === 1 ? x * alone : (kept[node.level]?.[x] ?? 0);
  return own - (x === 0 ? 0 : (waste?.(node, x) ?? 0));
}

function mayTake({ units, besides }: NonNullable<SplitQuestion['multiples']>, node: SwitchNode, x: number): boolean {
  return x % units === 0 || besides.get(node.kind)?.has(x) === true;
}

function join(
  before: Float64Array,
  child: Float64Array,
  units: number,
): { readonly best: Float64Array<ArrayBuffer>; readonly own: Int32Array } {
  const length = Math.min(units, before.length + child.length - 2) + 1;
  const best = new Float64Array(length).fill(-Infinity);
  const own = new Int32Array(length);
  for (let mine = 0; mine < child.length; mine++) {
    const value = child[mine] ?? -Infinity;
    if (value === -Infinity) continue;
    const last = Math.min(before.length, length - mine);
    for (let others = 0; others < last; others++) {
      const sum = value + (before[others] ?? -Infinity);
      if (sum > (best[others + mine] ?? -Infinity)) {
        best[others + mine] = sum;
        own[others + mine] = mine;
      }
    }
  }
  return { best, own };
}

function hand(
  { node, solved: { children, own } }: { readonly node: SwitchNode; readonly solved: Solved },
  units: number,
  into: { readonly unitsOfBin: Int32Array; readonly taken: { node: SwitchNode; units: number }[] },
): void {
  if (units === 0) return;
  into.taken.push({ node, units });
  if (node.bin !== undefined) into.unitsOfBin[node.bin.index] = units;
  const below = withRoom(node);
  let left = units;
  for (let at = children.length - 1; at >= 0; at--) {
    const mine = own[at]?.[left] ?? 0;
    const child = below[at];
    const solved = children[at];
    if (child !== undefined && solved !== undefined) hand({ node: child, solved }, mine, into);
    left -= mine;
  }
}
