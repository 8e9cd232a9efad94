/** Degrees of a layout that formats compare. */
import { worldSize } from '@coxswain/layout';
import type { Degree } from './checkpoint-format.ts';

export const TENSOR: Degree = { field: 'tensorParallelDegree', of: (layout) => layout.tensorParallelDegree };
export const PIPELINE: Degree = { field: 'pipelineParallelDegree', of: (layout) => layout.pipelineParallelDegree };
export const DATA: Degree = { field: 'dataParallelDegree', of: (layout) => layout.dataParallelDegree };
export const EXPERT: Degree = {
  field: 'expert.expertParallelDegree',
  of: (layout) => layout.expert?.expertParallelDegree ?? 1,
};
export const WORLD: Degree = { field: 'ranks', of: worldSize };
