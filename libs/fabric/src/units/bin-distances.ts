/** What does a byte between units of two bins cost, and all bytes of a gang? */
import type { UnitGraph } from './gang-units.ts';
import { COST_WITHIN_LEVEL, type SwitchTree } from './switch-tree.ts';

/** By their nearest common switch. */
function binDistance({ bins, above }: SwitchTree, one: number, other: number): number {
  if (one === other) return COST_WITHIN_LEVEL[bins[one]?.level ?? 0] ?? 0;
  let level = 1;
  while (level < above.length - 1 && above[level]?.[one] !== above[level]?.[other]) level++;
  return COST_WITHIN_LEVEL[level] ?? 0;
}

/** Tables of all pairs of more bins take longer than they save. */
const MOST_BINS_IN_TABLE = 1_024;

/** Cost of a byte between units of two bins, as {@link binDistance} says it: looked up at `one * bins + other` where bins are few. */
export interface BinDistances {
  readonly tree: SwitchTree;
  readonly bins: number;
  readonly table: Float64Array | undefined;
}

/** Computes a table of all pairs, unless there are too many bins: then each distance is computed when it is read. */
export function distancesBetween(tree: SwitchTree): BinDistances {
  const bins = tree.bins.length;
  if (bins > MOST_BINS_IN_TABLE) return { tree, bins, table: undefined };
  const table = new Float64Array(bins * bins);
  for (let one = 0; one < bins; one++) {
    for (let other = 0; other < bins; other++) table[one * bins + other] = binDistance(tree, one, other);
  }
  return { tree, bins, table };
}

/** Cost of one byte between two bins. */
export function distance({ tree, bins, table }: BinDistances, one: number, other: number): number {
  return table === undefined ? binDistance(tree, one, other) : (table[one * bins + other] ?? 0);
}

/** Weighted bytes between units that stand in these bins. */
export function arrangementCost(
  { first, neighbour, bytes }: UnitGraph,
  distances: BinDistances,
  binOf: Int32Array,
): number {
  let twice = 0;
  for (let unit = 0; unit < binOf.length; unit++) {
    const end = first[unit + 1] ?? 0;
    for (let at = first[unit] ?? 0; at < end; at++) {
      twice += (bytes[at] ?? 0) * distance(distances, binOf[unit] ?? 0, binOf[neighbour[at] ?? 0] ?? 0);
    }
  }
  return twice / 2;
}
