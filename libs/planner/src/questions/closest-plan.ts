/** Nothing fits: which layout comes closest, and what would make it fit? */
import { MAX_PLANNED_GPUS } from '@coxswain/layout';
import { GIB_BYTES } from '@coxswain/units';
import { planOf } from '../answer/plan-of-layout.ts';
import type { ClosestPlan, Plan, PlanRequest } from '../contract.ts';
import type { ResolvedRequest } from '../request/resolved-request.ts';
import type { SearchLimits } from '../search/branch-and-bound.ts';
import type { MeasuredLayout } from '../search/kept-layouts.ts';
import { searchRequest, type SearchGoal } from '../search/search-request.ts';

const NO_LIMITS: SearchLimits = { peakBytes: Infinity, stepTimeS: Infinity };
/** How many times as many GPUs are tried. */
const MULTIPLES = [2, 4, 8, 16];

/** The smallest layout, or where memory suffices the fastest one; undefined where no layout is legal. Asked where no layout keeps the limits. */
export function closestPlanOf(resolved: ResolvedRequest, limits: SearchLimits): ClosestPlan | undefined {
  const { request } = resolved;
  const { gpus } = request.cluster;
  const hasDeadline = limits.stepTimeS < Infinity;
  const withinMemory = hasDeadline ? bestOf(resolved, { objective: 'time', gpus, limits: untimed(limits) }) : undefined;
  if (withinMemory !== undefined) {
    const closest = planOf(resolved, withinMemory);
    return { plan: closest, exceedsGib: 0, relax: relaxDeadline(request, closest) };
  }
  const smallest = bestOf(resolved, { objective: 'memory', gpus, limits: NO_LIMITS });
  if (smallest === undefined) return undefined;
  const exceedsGib = Math.max(0, (smallest.peakBytes - limits.peakBytes) / GIB_BYTES);
  return { plan: planOf(resolved, smallest), exceedsGib, relax: relaxMemory(resolved, limits) };
}

function bestOf(
  resolved: ResolvedRequest,
  { gpus, ...goal }: Pick<SearchGoal, 'objective' | 'limits' | 'wanted'> & { readonly gpus: number },
): MeasuredLayout | undefined {
  return searchRequest(resolved, { wanted: 'best', ...goal, top: 1, gpuCounts: [gpus] }).best[0];
}

/** More GPUs are told by their work alone: a step on more of them waits more, so that fewer never do. */
function relaxDeadline(request: PlanRequest, { trainingHours = 0, gpus }: Plan): string[] {
  const { deadlineHours = 0 } = request;
  const fewest = Math.ceil((gpus * trainingHours) / deadlineHours);
  return [
    `raise deadlineHours from ${counted(deadlineHours)} to ${counted(Math.ceil(trainingHours))}, which the closest layout takes`,
    `use more GPUs: the same work takes at least ${counted(fewest)} of this type instead of ${counted(gpus)}`,
    ...relaxPins(request),
  ];
}

function counted(count: number): string {
  return count.toLocaleString('en-US');
}

function relaxMemory(resolved: ResolvedRequest, limits: SearchLimits): string[] {
  const { request } = resolved;
  const more = fewestGpusThatHold(resolved, limits);
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
function fewestGpusThatHold(resolved: ResolvedRequest, limits: SearchLimits): number | undefined {
  const { cluster } = resolved.request;
  if (cluster.islands !== undefined) return undefined;
  const counts = MULTIPLES.map((multiple) => multiple * cluster.gpus).filter((gpus) => gpus <= MAX_PLANNED_GPUS);
  return counts.find(
    (gpus) => bestOf(resolved, { objective: 'memory', gpus, limits: untimed(limits), wanted: 'any' }) !== undefined,
  );
}

function untimed(limits: SearchLimits): SearchLimits {
  return { ...limits, stepTimeS: Infinity };
}
