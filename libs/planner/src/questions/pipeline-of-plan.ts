/** The passes of a plan's pipeline, for drawings. */
import { constantsOf } from '../calibration/calibration-in-use.ts';
import type { AskedLayout, PlanRequest } from '../contract.ts';
import { resolveRequest, runOnGpus } from '../request/resolved-request.ts';
import type { ScheduleInput } from '../schedule/schedule-input.ts';
import { pipelineWorkOf, scheduleInputOf } from '../time/pipeline-work.ts';
import { blockCostsOf } from '../time/stage-cost.ts';
import { runOfLayout } from './predict.ts';

/**
 * The predicted passes of a layout's pipeline; undefined if it has one stage. The run uses `gpus` of the plan; the request only has
 * the maximum.
 *
 * @throws DomainError INVALID_REQUEST for an unknown preset; INVALID_LAYOUT if the models do not cover an option of the layout.
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
