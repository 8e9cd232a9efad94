/** Nothing fits: which layout comes closest, and what would make it fit? */
import type { ClosestPlan, PlanRequest } from '../contract.ts';
import type { MeasuredLayout } from '../search/kept-layouts.ts';
import { planOf } from '../answer/plan-of-layout.ts';
import type { SearchLimits } from '../search/branch-and-bound.ts';
import { limitsOf, searchRequest } from '../search/search-request.ts';

const GIB = 2 ** 30;
const NO_LIMITS: SearchLimits = { peakBytes: Infinity, stepTimeS: Infinity };
/** How many times as many GPUs are tried. */
const MULTIPLES = [2, 4, 8, 16];
const MAX_GPUS = 32_768;

/** The smallest layout, or where memory suffices the fastest one; undefined where no layout is legal. */
export function closestPlanOf(request: PlanRequest): ClosestPlan | undefined {
  const limits = limitsOf(request);
  const withinMemory = bestOf({ ...request, objective: 'time' }, { ...limits, stepTimeS: Infinity });
  if (withinMemory !== undefined) {
    return { plan: planOf(request, withinMemory), exceedsGib: 0, relax: relaxDeadline(request) };
  }
  const smallest = bestOf({ ...request, objective: 'memory' }, NO_LIMITS);
  if (smallest === undefined) return undefined;
  const exceedsGib = Math.max(0, (smallest.peakBytes - limits.peakBytes) / GIB);
  return { plan: planOf(request, smallest), exceedsGib, relax: relaxMemory(request, limits) };
}

function bestOf(request: PlanRequest, limits: SearchLimits): MeasuredLayout | undefined {
  return searchRequest({ ...request, top: 1 }, limits).best[0];
}

function relaxDeadline(request: PlanRequest): string[] {
  return [
    `raise deadlineHours above ${request.deadlineHours ?? 0}, or give more GPUs than ${request.cluster.gpus}`,
    ...relaxPins(request),
  ];
}

function relaxMemory(request: PlanRequest, limits: SearchLimits): string[] {
  const more = fewestGpusThatHold(request, limits);
  return [
    more === undefined
      ? `use GPUs with more memory than ${request.cluster.gpu}, or a smaller model`
      : `use at least ${more} GPUs of this type instead of ${request.cluster.gpus}`,
    ...(request.allow?.offload === false ? ['allow offload: optimizer states can live in host memory'] : []),
    ...relaxPins(request),
    ...(request.sequenceLength > SHORT_SEQUENCE ? [`shorten sequenceLength from ${request.sequenceLength}`] : []),
  ];
}

const SHORT_SEQUENCE = 2048;

function relaxPins(request: PlanRequest): string[] {
  const pins = Object.keys(request.pinned ?? {});
  return pins.length === 0 ? [] : [`leave ${pins.join(', ')} open instead of pinned`];
}

/** The least of a few multiples of the GPUs that holds the model. */
function fewestGpusThatHold(request: PlanRequest, limits: SearchLimits): number | undefined {
  if (request.cluster.islands !== undefined) return undefined;
  const counts = MULTIPLES.map((multiple) => multiple * request.cluster.gpus).filter((gpus) => gpus <= MAX_GPUS);
  return counts.find((gpus) => {
    const larger = { ...request, objective: 'memory' as const, cluster: { ...request.cluster, gpus } };
    return bestOf(larger, { ...limits, stepTimeS: Infinity }) !== undefined;
  });
}
