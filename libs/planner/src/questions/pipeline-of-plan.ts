/** What does the pipeline of a plan do, pass by pass? Asked to draw it. */
import { constantsOf } from '../calibration/calibration-in-use.ts';
import type { AskedLayout, PlanRequest } from '../contract.ts';
import { resolveRequest, runOnGpus } from '../request/resolved-request.ts';
import type { ScheduleInput } from '../schedule/schedule-input.ts';
import { pipelineWorkOf, scheduleInputOf } from '../time/pipeline-work.ts';
import { blockCostsOf } from '../time/stage-cost.ts';
import { runOfLayout } from './predict.ts';

/**
 * The predicted passes of a layout's pipeline; undefined where it has one stage. `gpus` of the plan count, not those of the request, which are
 * the most it may use.
 *
 * @throws DomainError INVALID_REQUEST for an unknown preset; INVALID_LAYOUT where the models do not cover a choice of the layout.
 */
export function pipelineOfPlan(
  request: PlanRequest,
  plan: AskedLayout & { readonly gpus: number },
): ScheduleInput | undefined {
  const { layout, microBatchSize, gpus } = plan;
  if (layout.pipelineParallelDegree === 1) return undefined;
  const run = runOfLayout(runOnGpus(resolveRequest(request), gpus), { layout, microBatchSize });
  const constants = constantsOf(run);
  return scheduleInputOf(run, pipelineWorkOf(run, blockCostsOf(run, constants), constants), constants);
}
