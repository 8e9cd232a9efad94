/** Notes for readers of an answer: which stage times belong to, and why a faster layout is not the first. */
import type { ParallelLayout } from '@coxswain/layout';
import type { Plan, PlanRequest } from '@coxswain/planner';

/** A note that the parts of a step are those of the slowest pipeline stage; empty without a pipeline. */
export function stageNote({ pipelineParallelDegree: stages }: Pick<ParallelLayout, 'pipelineParallelDegree'>): string {
  return stages === 1 ? '' : ` on the slowest of ${stages} pipeline stages`;
}

/** Why the first layout is not the fastest; undefined if it is, and for objective `memory`. */
export function explainOrder(
  plans: readonly Plan[],
  { objective }: Pick<PlanRequest, 'objective'>,
): string | undefined {
  const [first, ...others] = plans;
  if (first === undefined || objective === 'memory') return undefined;
  const isFaster = others.some(
    ({ gpus, prediction }) => gpus === first.gpus && prediction.stepTimeS < first.prediction.stepTimeS,
  );
  return isFaster ? 'The first layout is the simplest within the prediction error of the fastest.' : undefined;
}
