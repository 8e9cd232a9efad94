/** The layout that is closest to fitting if nothing fits, and changes that would make it fit. */
import { MAX_PLANNED_GPUS } from '@coxswain/layout';
import { GIB_BYTES } from '@coxswain/units';
import { planOf } from '../answer/plan-of-layout.ts';
import type { ClosestPlan, Plan, PlanRequest } from '../contract.ts';
import type { ResolvedRequest } from '../request/resolved-request.ts';
import type { SearchLimits } from '../search/branch-and-bound.ts';
import type { MeasuredLayout } from '../search/kept-layouts.ts';
import { searchRequest, type SearchGoal } from '../search/search-request.ts';

const NO_LIMITS: SearchLimits = { peakBytes: Infinity, stepTimeS: Infinity };
/** Multiples of the requested GPUs to try. */
const MULTIPLES = [2, 4, 8, 16];

/** If a deadline is missed and memory suffices, the fastest layout; else the smallest layout. Undefined if no layout is legal. */
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
  const plan = planOf(resolved, smallest);
  return { plan, exceedsGib, relax: relaxMemory(resolved, limits, { plan, exceedsGib }) };
}

function bestOf(
  resolved: ResolvedRequest,
  { gpus, ...goal }: Pick<SearchGoal, 'objective' | 'limits' | 'wanted'> & { readonly gpus: number },
): MeasuredLayout | undefined {
  return searchRequest(resolved, { wanted: 'best', ...goal, top: 1, gpuCounts: [gpus] }).best[0];
}

/** Changes that meet the deadline. The number of GPUs is a lower bound, from equal efficiency on more GPUs. */
function relaxDeadline(request: PlanRequest, { trainingHours = 0, gpus }: Plan): string[] {
  const { deadlineHours = 0 } = request;
  const fewest = Math.ceil((gpus * trainingHours) / deadlineHours);
  return [
    `raise deadlineHours from ${counted(deadlineHours)} to ${counted(Math.ceil(trainingHours))}, the training time of the closest layout`,
    `use more GPUs: the same work needs at least ${counted(fewest)} of this type instead of ${counted(gpus)}`,
    ...relaxPins(request),
  ];
}

function counted(count: number): string {
  return count.toLocaleString('en-US');
}

function relaxMemory(
  resolved: ResolvedRequest,
  limits: SearchLimits,
  closest: Pick<ClosestPlan, 'plan' | 'exceedsGib'>,
): string[] {
  const { request } = resolved;
  return [
    moreGpus(resolved, limits),
    ...(request.allow?.offload === false ? ['set allow.offload to true: host memory can hold optimizer states'] : []),
    ...relaxPins(request),
    ...(request.sequenceLength > SHORT_SEQUENCE && isOfTokens(closest)
      ? [`shorten sequenceLength from ${counted(request.sequenceLength)}`]
      : []),
  ];
}

const SHORT_SEQUENCE = 2048;
/** Parts of the memory that grow with the tokens of a sample. */
const OF_TOKENS = new Set(['activations', 'vocabulary', 'backward']);

/** Whether fewer tokens per sample could save the missing memory. Weights and optimizer states do not depend on tokens. */
function isOfTokens({ plan, exceedsGib }: Pick<ClosestPlan, 'plan' | 'exceedsGib'>): boolean {
  return plan.prediction.memory
    .filter(({ peakGib }) => peakGib === plan.prediction.peakGib)
    .every(({ parts }) => parts.reduce((sum, { part, gib }) => sum + (OF_TOKENS.has(part) ? gib : 0), 0) > exceedsGib);
}

/** The advised number of GPUs. Only multiples are tried, so fewer GPUs may suffice. */
function moreGpus(resolved: ResolvedRequest, limits: SearchLimits): string {
  const { gpu, gpus } = resolved.request.cluster;
  const enough = fewestGpusThatHold(resolved, limits);
  if (enough === undefined) return `use GPUs with more memory than ${gpu}, or a smaller model`;
  const tried = enough / 2 > gpus ? `; ${counted(enough / 2)} are too few` : '';
  return `use ${counted(enough)} GPUs of this type instead of ${counted(gpus)}${tried}`;
}

function relaxPins(request: PlanRequest): string[] {
  const pins = Object.keys(request.pinned ?? {});
  return pins.length === 0 ? [] : [`do not pin ${pins.join(', ')}`];
}

/** The smallest tried multiple of the GPUs that holds the model. */
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
