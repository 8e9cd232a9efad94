/** Degrees of a layout that formats compare. */
import { worldSize } from '@coxswain/layout';
import type { Degree } from './checkpoint-format.ts';

/** The tensor-parallel degree. */
export const TENSOR: Degree = { field: 'tensorParallelDegree', of: (layout) => layout.tensorParallelDegree };
/** The pipeline-parallel degree. */
export const PIPELINE: Degree = { field: 'pipelineParallelDegree', of: (layout) => layout.pipelineParallelDegree };
/** The data-parallel degree. */
export const DATA: Degree = { field: 'dataParallelDegree', of: (layout) => layout.dataParallelDegree };
/** The expert-parallel degree; 1 without experts. */
export const EXPERT: Degree = {
  field: 'expert.expertParallelDegree',
  of: (layout) => layout.expert?.expertParallelDegree ?? 1,
};
/** The context-parallel degree; 1 if it is absent. */
export const CONTEXT: Degree = {
  field: 'contextParallelDegree',
  of: (layout) => layout.contextParallelDegree ?? 1,
};
/** Chunks of the model that each pipeline rank holds. */
export const CHUNKS: Degree = { field: 'pipeline.chunksPerRank', of: (layout) => layout.pipeline?.chunksPerRank ?? 1 };
/** The number of ranks. */
export const WORLD: Degree = { field: 'ranks', of: worldSize };

/** All of them. A layout in which none differs loads a save as it is. */
export const ALL_DEGREES: readonly Degree[] = [TENSOR, PIPELINE, DATA, CONTEXT, EXPERT, CHUNKS];
