/** For which type of GPU are the stages of a pipeline meant, where not all are for one? */
import { groupsOfAxis, type ParallelLayout, worldSize } from '@coxswain/layout';

/** So many consecutive stages on nodes whose type of GPU is called that. */
export interface StageGpus {
  readonly stages: number;
  readonly gpuType: string;
}

/** Why the stages of a layout cannot be placed like that, and what to do; undefined where they can. */
export function stageGpusProblem(
  layout: ParallelLayout,
  stageGpus: readonly Pick<StageGpus, 'stages'>[],
): string | undefined {
  const { pipelineParallelDegree: stages } = layout;
  const named = stageGpus.reduce((sum, part) => sum + part.stages, 0);
  if (named !== stages)
    return `GPUs are named for ${named} stages, and layout.pipelineParallelDegree is ${stages}: name them for each stage once.`;
  const ranksOfStage = worldSize(layout) / stages;
  const isWhole = stages === 1 || groupsOfAxis(layout, 'pipeline')[0]?.[1] === ranksOfStage;
  return isWhole
    ? undefined
    : 'layout.rankOrder puts ranks of several stages side by side, and stages for several types of GPU are placed apart: put the pipeline last in it, or leave it out.';
}
