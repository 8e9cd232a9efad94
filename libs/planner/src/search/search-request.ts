/** The search over every number of GPUs that a request leaves open. */
import { deviceUsedBytesOf } from '../memory/memory-verdict.ts';
import { habitsOf } from '../memory/stack-habits.ts';
import type { PlanRequest } from '../contract.ts';
import { constantsOf } from '../calibration/calibration-in-use.ts';
import { gpuCountsOf } from '../space/gpu-counts.ts';
import { BestLayouts, frontOverGpuCounts, ParetoFront, type MeasuredLayout } from './kept-layouts.ts';
import { runBaseOf, spaceOf, stepsOf } from '../request/run-base.ts';
import { modelsOfRun } from './run-models.ts';
import { newTally, searchLayouts, type SearchLimits, type SearchTally } from './branch-and-bound.ts';

const SECONDS_PER_HOUR = 3600;
const GIB = 2 ** 30;

/** What a search over all GPU counts of a request found. */
export interface SearchResult {
  readonly best: readonly MeasuredLayout[];
  readonly front: readonly MeasuredLayout[];
  readonly tally: SearchTally;
}

export function searchRequest(request: PlanRequest, limits: SearchLimits): SearchResult {
  const best = new BestLayouts(request.objective, request.top);
  const tally = newTally();
  const fronts = gpuCountsOf(request, runBaseOf(request).cluster.gpusPerNode).map((gpus) => {
    const base = runBaseOf(request, gpus);
    const front = new ParetoFront();
    searchLayouts({
      space: spaceOf(request, base),
      models: modelsOfRun(base, constantsOf(base)),
      limits,
      best,
      front,
      tally,
      smallestFirst: request.objective === 'memory',
    });
    return front.layouts;
  });
  return { best: best.layouts, front: frontOverGpuCounts(fronts), tally };
}

/** What a layout may take: memory with the margin of the verdict 'fits', and time so that the training meets its deadline. */
export function limitsOf(request: PlanRequest): SearchLimits {
  const { cluster, stack } = runBaseOf(request);
  const margin = request.memoryMarginShare ?? habitsOf(stack).marginShare;
  const usable = cluster.gpu.memoryGib * GIB * (1 - margin);
  const none = deviceUsedBytesOf(0, stack);
  const perByte = (deviceUsedBytesOf(GIB, stack) - none) / GIB;
  return { peakBytes: (usable - none) / perByte, stepTimeS: deadlineStepTimeS(request) };
}

function deadlineStepTimeS(request: PlanRequest): number {
  if (request.deadlineHours === undefined || request.tokens === undefined) return Infinity;
  return (request.deadlineHours * SECONDS_PER_HOUR) / stepsOf(request, request.tokens);
}
