import type { ParallelLayout } from '@coxswain/layout';

/** The degrees of a layout alone, for engines that have no other options. */
export function degreesOf(layout: ParallelLayout): ParallelLayout {
  const { tensorParallelDegree, pipelineParallelDegree, dataParallelDegree } = layout;
  return { tensorParallelDegree, pipelineParallelDegree, dataParallelDegree };
}
