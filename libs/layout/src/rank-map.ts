import type { ParallelLayout, RankAxis } from './parallel-layout.ts';
import { axisOf, denseGrid, groupsOver, indexOnAxis } from './rank-grid.ts';

/** Position of a rank on each axis of the dense grid, each index in [0, degree). */
export interface RankCoordinates {
  readonly tensorIndex: number;
  readonly weightShardIndex: number;
  readonly contextIndex: number;
  readonly dataIndex: number;
  readonly pipelineIndex: number;
}

/** Ranks count tensor index fastest, then context, data and pipeline, unless the layout's `rankOrder` gives another order; see {@link denseGrid}. */
export function coordinatesOfRank(layout: ParallelLayout, rank: number): RankCoordinates {
  const grid = denseGrid(layout);
  const indexOn = (axis: RankAxis): number => indexOnAxis(axisOf(grid, axis), rank);
  return {
    tensorIndex: indexOn('tensor'),
    weightShardIndex: indexOn('weightShard'),
    contextIndex: indexOn('context'),
    dataIndex: indexOn('data'),
    pipelineIndex: indexOn('pipeline'),
  };
}

/** Inverse of {@link coordinatesOfRank}. */
export function rankOfCoordinates(layout: ParallelLayout, at: RankCoordinates): number {
  const grid = denseGrid(layout);
  return (
    at.tensorIndex * axisOf(grid, 'tensor').stride +
    at.weightShardIndex * axisOf(grid, 'weightShard').stride +
    at.contextIndex * axisOf(grid, 'context').stride +
    at.dataIndex * axisOf(grid, 'data').stride +
    at.pipelineIndex * axisOf(grid, 'pipeline').stride
  );
}

/** The process groups of one axis of the dense grid, each as ascending global ranks; every rank is in exactly one group. */
export function groupsOfAxis(layout: ParallelLayout, axis: RankAxis): readonly (readonly number[])[] {
  return groupsOver(denseGrid(layout), [axis]);
}
