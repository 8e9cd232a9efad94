import type { AskedLayout, PlanRequest } from '../contract.ts';
import { constantsOf } from '../calibration/calibration-in-use.ts';
import { runOfLayout } from './predict.ts';
import { microBatches } from '../facts.ts';
import type { ScheduleInput } from '../schedule/schedule-input.ts';
import { predictStepTime } from '../time/step-time.ts';

/**
 * The predicted passes of a layout's pipeline, to be drawn; undefined where it has one stage. `gpus` of the plan count, not those of the
 * request, which are the most it may use.
 *
 * @throws DomainError INVALID_REQUEST; INVALID_LAYOUT where the models do not cover a choice of the layout.
 */
export function pipelineOfPlan(
  request: PlanRequest,
  plan: AskedLayout & { readonly gpus: number },
): ScheduleInput | undefined {
  const { layout, microBatchSize, gpus } = plan;
  if (layout.pipelineParallelDegree === 1) return undefined;
  const { islands: _, ...cluster } = request.cluster;
  const asked = gpus === request.cluster.gpus ? request : { ...request, cluster: { ...cluster, gpus } };
  const run = runOfLayout(asked, { layout, microBatchSize });
  const { passesS } = predictStepTime(run, constantsOf(run));
  const chunks = run.layout.chunks;
  const hops = new Float64Array(layout.pipelineParallelDegree * chunks).fill(passesS.hopS);
  const schedule = chunks > 1 && run.layout.schedule === '1f1b' ? 'interleaved-1f1b' : run.layout.schedule;
  return {
    schedule,
    pipeline: layout.pipelineParallelDegree,
    chunks,
    microBatches: Math.max(1, Math.ceil(microBatches(run))),
    forwardS: passesS.forwardS,
    backwardInputS: passesS.backwardInputS,
    backwardWeightS: passesS.backwardWeightS,
    forwardHopS: hops,
    backwardHopS: hops,
    p2p: schedule === '1f1b' || schedule === 'gpipe' ? 'blocking' : 'overlapped',
  };
}
