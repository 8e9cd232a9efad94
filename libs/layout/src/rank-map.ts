import type { ParallelLayout } from './parallel-layout.ts';

/** Position of a rank on each mesh axis, each index in [0, degree). */
export interface RankCoordinates {
  readonly tensorIndex: number;
  readonly dataIndex: number;
  readonly pipelineIndex: number;
}

export type MeshAxis = 'tensor' | 'data' | 'pipeline';

/**
 * Ranks count tensor index fastest, then data, then pipeline: `rank = tensor + TP * (data + DP * pipeline)`.
 *
 * This is Megatron-LM's default order `tp-cp-ep-dp-pp` (megatron/core/parallel_state.py, `RankGenerator`) with the absent axes at degree 1.
 */
export function coordinatesOfRank(layout: ParallelLayout, rank: number): RankCoordinates {
  const { tensorParallelDegree: tp, dataParallelDegree: dp } = layout;
  return {
    tensorIndex: rank % tp,
    dataIndex: Math.floor(rank / tp) % dp,
    pipelineIndex: Math.floor(rank / (tp * dp)),
  };
}

/** Inverse of {@link coordinatesOfRank}. */
export function rankOfCoordinates(layout: ParallelLayout, at: RankCoordinates): number {
  const { tensorParallelDegree: tp, dataParallelDegree: dp } = layout;
  return at.tensorIndex + tp * (at.dataIndex + dp * at.pipelineIndex);
}

/** The process groups of one axis, each as ascending global ranks; every rank is in exactly one group. */
export function groupsOfAxis(layout: ParallelLayout, axis: MeshAxis): readonly (readonly number[])[] {
  const { tensorParallelDegree: tp, dataParallelDegree: dp, pipelineParallelDegree: pp } = layout;
  const world = tp * dp * pp;
  const stride = { tensor: 1, data: tp, pipeline: tp * dp }[axis];
  const size = { tensor: tp, data: dp, pipeline: pp }[axis];
  const groups: number[][] = [];
  for (let first = 0; first < world; first++) {
    if (Math.floor(first / stride) % size !== 0) continue;
    groups.push(Array.from({ length: size }, (_, i) => first + i * stride));
  }
  return groups;
}
