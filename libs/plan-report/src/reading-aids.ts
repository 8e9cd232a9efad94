/** What a reader of an answer would ask at once: whose time is it, and why is a faster layout not the first? */
import type { ParallelLayout } from '@coxswain/layout';
import type { Plan, PlanRequest } from '@coxswain/planner';

/** The parts of a step are those of one pipeline stage: the last one has the whole vocabulary, others none of it. */
export function stageNote({ pipelineParallelDegree: stages }: Pick<ParallelLayout, 'pipelineParallelDegree'>): string {
  return stages === 1 ? '' : ` on the slowest of ${stages} pipeline stages`;
}

/** Undefined where none of as many GPUs is faster than the first, and where the smallest were asked for. */
export function explainOrder(
  plans: readonly Plan[],
  { objective }: Pick<PlanRequest, 'objective'>,
): string | undefined {
  const [first, ...others] = plans;
  if (first === undefined || objective === 'memory') return undefined;
  const isFaster = others.some(
    ({ gpus, prediction }) => gpus === first.gpus && prediction.stepTimeS < first.prediction.stepTimeS,
  );
  return isFaster ? 'The first is the simplest of those that predictions cannot tell from the fastest.' : undefined;
}
