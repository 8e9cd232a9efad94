import { plan, type Plan, type PlanRequest } from '@coxswain/planner';

interface EvenGrid {
  readonly tensor: number;
  readonly pipeline: number;
  readonly data: number;
}

/** The best of each even division, fastest first. */
export function plansOfEvenGrids(request: PlanRequest): readonly Plan[] {
  return evenGridsOf(request)
    .flatMap((grid) => plan({ ...request, top: 1, pinned: { ...request.pinned, ...grid } }).best ?? [])
    .sort((one, other) => one.prediction.stepTimeS - other.prediction.stepTimeS);
}

/** Degrees on all GPUs that divide heads, layers and batch evenly. */
function evenGridsOf({ cluster, modelShape, globalBatchSize }: PlanRequest): readonly EvenGrid[] {
  const { layers = 1, attentionHeads = 1 } = modelShape ?? {};
  return divisorsOf(cluster.gpus)
    .filter((tensor) => attentionHeads % tensor === 0)
    .flatMap((tensor) =>
      divisorsOf(cluster.gpus / tensor)
        .filter((pipeline) => layers % pipeline === 0)
        .map((pipeline) => ({ tensor, pipeline, data: cluster.gpus / tensor / pipeline })),
    )
    .filter(({ data }) => globalBatchSize % data === 0);
}

function divisorsOf(whole: number): readonly number[] {
  const small = Array.from({ length: Math.floor(Math.sqrt(whole)) }, (_, index) => index + 1).filter(
    (candidate) => whole % candidate === 0,
  );
  return [...new Set([...small, ...small.map((divisor) => whole / divisor)])];
}
