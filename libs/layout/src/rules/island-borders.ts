import type { LayoutFacts } from '../layout-facts.ts';
import type { ParallelLayout, RankAxis } from '../parallel-layout.ts';
import { axisOf, denseGrid, type RankGrid } from '../rank-grid.ts';

type NetworkAxis = 'tensor' | 'context' | 'data' | 'pipeline';

/** Axes of the dense grid that have groups with ranks in two islands of different networks. */
export function spanningAxes(layout: ParallelLayout, facts: LayoutFacts): readonly NetworkAxis[] {
  const islands = facts.islands ?? [];
  if (new Set(islands.map((island) => island.network)).size < 2) return [];
  const ends = islandEnds(islands, facts.gpusPerNode ?? 1);
  const grid = denseGrid(layout);
  return (['tensor', 'context', 'data', 'pipeline'] as const).filter((axis) => spans(grid, axis, ends));
}

/** The last rank of each island, plus one. */
function islandEnds(islands: NonNullable<LayoutFacts['islands']>, gpusPerNode: number): readonly number[] {
  let end = 0;
  return islands.map((island) => (end += island.nodes * gpusPerNode));
}

function spans(grid: RankGrid, axis: RankAxis, ends: readonly number[]): boolean {
  const { degree, stride } = axisOf(grid, axis);
  const block = degree * stride;
  // A block of adjacent ranks holds whole groups. They stay inside one island only if no island ends inside the block.
  return degree > 1 && ends.slice(0, -1).some((end) => end % block !== 0);
}
