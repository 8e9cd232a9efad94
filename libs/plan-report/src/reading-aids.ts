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
  const faster = others.filter(
    ({ gpus, prediction }) => gpus === first.gpus && prediction.stepTimeS < first.prediction.stepTimeS,
  );
  if (faster.length === 0) return undefined;
  const isForOther = ({ layout }: Plan): boolean => hasSplitBackward(layout) && !hasSplitBackward(first.layout);
  const isOnHost = ({ layout }: Plan): boolean => usesHost(layout) && !usesHost(first.layout);
  const reasons = [
    ...(faster.every((plan) => isForOther(plan) || isOnHost(plan))
      ? []
      : ['The first layout is the simplest within the prediction error of the fastest.']),
    ...(faster.some(isOnHost) ? ['Layouts that use host memory come after those that do not.'] : []),
    ...(faster.some(isForOther) ? ['The last layout needs an engine that runs its schedule.'] : []),
  ];
  return reasons.join(' ');
}

function usesHost({ memory }: Plan['layout']): boolean {
  return (memory?.offload?.length ?? 0) > 0;
}

/** Schedules that zero-bubble engines run, and usual ones do not. */
function hasSplitBackward({ pipeline }: Plan['layout']): boolean {
  return /^(zb|v-|dualpipe)/.test(pipeline?.schedule ?? '');
}
