import { type SwitchTree, TREE_LEVELS } from '../units/switch-tree.ts';

/** The units to place, line by line, and how many of them go below each switch. */
export interface LineQuestion {
  readonly tree: SwitchTree;
  /** How many units go below each switch of the spine level is taken from here; how they lie on its bins is not. */
  readonly unitsOfBin: Int32Array;
  /** Units, line by line. */
  readonly order: Int32Array;
  /** Units of a line. */
  readonly size: number;
  /**
   * Which units go below which switch. `inOrder`: one switch after the other takes the next ones. `wholeFirst`: each takes whole lines first. The
   * units beyond them come last, so that one unit too many on the first switch does not cut every line.
   */
  readonly fillOrder: 'inOrder' | 'wholeFirst';
}

/**
 * The bin of each unit where lines stay whole as far as there is room: the largest first, each on the fewest bins that hold it, and of
 * those on the ones with least room. So a ring that has to be cut is cut into few pieces, whatever bins the split would fill.
 */
export function packLines({ tree, unitsOfBin, order, size, fillOrder: fillOrder }: LineQuestion): Int32Array {
  const binOf = new Int32Array(order.length);
  const left = tree.bins.map(({ room }) => room);
  const all = shares(tree, unitsOfBin);
  const runs = fillOrder === 'inOrder' ? runsInOrder(all) : runsOfWholeLines(all, size);
  for (const { bins, pieces } of runs.map((run) => ({ bins: run.bins, pieces: piecesOf({ ...run, size }) }))) {
    for (const piece of pieces) {
      let at = piece.first;
      for (const { bin, units: taken } of fewestBins(bins, left, piece.end - piece.first)) {
        left[bin] = (left[bin] ?? 0) - taken;
        for (const last = at + taken; at < last; at++) binOf[order[at] ?? 0] = bin;
      }
    }
  }
  return binOf;
}

/** Whether the two ways to deal differ: a switch that is not the last takes other than whole lines. */
export function cutsLines({ tree, unitsOfBin, size }: Pick<LineQuestion, 'tree' | 'unitsOfBin' | 'size'>): boolean {
  return shares(tree, unitsOfBin)
    .slice(0, -1)
    .some(({ units }) => units % size > 0);
}

interface Share {
  readonly bins: readonly number[];
  readonly units: number;
}

/** Switches of the spine level that take units, most first. */
function shares({ bins, above }: SwitchTree, unitsOfBin: Int32Array): readonly Share[] {
  const spineOf = above[TREE_LEVELS.indexOf('spine')];
  const bySpine = Map.groupBy(
    bins.filter(({ room }) => room > 0),
    ({ index }) => spineOf?.[index] ?? 0,
  );
  return [...bySpine.values()]
    .map((inside) => ({
      bins: inside.map(({ index }) => index),
      units: inside.reduce((sum, { index }) => sum + (unitsOfBin[index] ?? 0), 0),
    }))
    .filter(({ units }) => units > 0)
    .sort((one, other) => other.units - one.units);
}

interface Run {
  readonly first: number;
  readonly end: number;
}

type RunOn = Run & Pick<Share, 'bins'>;

function runsInOrder(all: readonly Share[]): readonly RunOn[] {
  let end = 0;
  return all.map(({ bins, units }) => ({ bins, first: end, end: (end += units) }));
}

/** Whole lines of every share, then what is left of each, in an order in which few lines are cut: the largest, then what fills its line up. */
function runsOfWholeLines(all: readonly Share[], size: number): readonly RunOn[] {
  const whole = all.map((share) => ({ ...share, units: share.units - (share.units % size) }));
  const rest = all
    .map((share) => ({ ...share, units: share.units % size }))
    .filter(({ units }) => units > 0)
    .sort((one, other) => other.units - one.units);
  const inOrder: Share[] = [];
  let missing = 0;
  while (rest.length > 0) {
    const fits = rest.findIndex(({ units }) => units <= missing);
    const [next] = rest.splice(Math.max(0, fits), 1);
    if (next === undefined) break;
    inOrder.push(next);
    missing = (missing + size - next.units) % size;
  }
  return runsInOrder([...whole, ...inOrder]);
}

/** What of each line is in a run of positions, the longest first. */
function piecesOf({ first, end, size }: Run & { readonly size: number }): readonly Run[] {
  const pieces: Run[] = [];
  for (let at = first; at < end;) {
    const next = Math.min(end, at - (at % size) + size);
    pieces.push({ first: at, end: next });
    at = next;
  }
  return pieces.sort((one, other) => other.end - other.first - (one.end - one.first));
}

interface Taken {
  readonly bin: number;
  readonly units: number;
}

/** Larger sums of rooms are not tried out. */
const MOST_SUMS = 4_096;

/** The fewest bins that hold so many, and of as many bins those with least room: the others' room stays for other lines. */
function fewestBins(bins: readonly number[], left: readonly number[], units: number): readonly Taken[] {
  const roomOf = (bin: number): number => left[bin] ?? 0;
  const roomiest = bins.filter((bin) => roomOf(bin) > 0).sort((one, other) => roomOf(other) - roomOf(one));
  let wanted = 0;
  for (let missing = units; missing > 0 && wanted < roomiest.length; wanted++) missing -= roomOf(roomiest[wanted] ?? 0);
  const chosen = tightestOf(roomiest, { roomOf, wanted, units }) ?? roomiest.slice(0, wanted);
  let missing = units;
  return chosen.map((bin) => {
    const taken = Math.min(roomOf(bin), missing);
    missing -= taken;
    return { bin, units: taken };
  });
}

interface Choice {
  readonly roomOf: (bin: number) => number;
  readonly wanted: number;
  readonly units: number;
}

/** So many of the bins that their rooms' sum is as little above `units` as can be; undefined where there are too many sums. */
function tightestOf(bins: readonly number[], { roomOf, wanted, units }: Choice): readonly number[] | undefined {
  const largest = units + roomOf(bins[0] ?? 0);
  if (wanted * largest > MOST_SUMS) return undefined;
  // chosen[count][sum]: bins, as many and with as much room.
  const chosen = Array.from({ length: wanted + 1 }, () => new Map<number, readonly number[]>());
  chosen[0]?.set(0, []);
  for (const bin of bins) {
    for (let count = wanted; count > 0; count--) {
      for (const [sum, fewer] of chosen[count - 1] ?? []) {
        const more = sum + roomOf(bin);
        if (more < largest && chosen[count]?.has(more) === false) chosen[count]?.set(more, [...fewer, bin]);
      }
    }
  }
  const sums = [...(chosen[wanted]?.keys() ?? [])].filter((sum) => sum >= units);
  return chosen[wanted]?.get(Math.min(...sums));
}
