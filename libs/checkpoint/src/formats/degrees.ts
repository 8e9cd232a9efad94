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
/** The number of ranks. */
export const WORLD: Degree = { field: 'ranks', of: worldSize };
