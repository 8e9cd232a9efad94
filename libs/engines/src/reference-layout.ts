import type { ParallelLayout } from '@coxswain/layout';

/** The degrees of a layout alone: all that engines without further flags are told. */
export function degreesOf(layout: ParallelLayout): ParallelLayout {
  const { tensorParallelDegree, pipelineParallelDegree, dataParallelDegree } = layout;
  return { tensorParallelDegree, pipelineParallelDegree, dataParallelDegree };
}
