/** The search over every number of GPUs that a request leaves open. */
import { constantsOf } from '../calibration/calibration-in-use.ts';
import { PAIRED_ERROR_PCT } from '../calibration/paired-error.ts';
import type { Objective } from '../contract.ts';
import { mostAllocatedBytesOf } from '../memory/memory-verdict.ts';
import { runOnGpus, stepsOf, type ResolvedRequest } from '../request/resolved-request.ts';
import { gpuCountsOf } from '../space/gpu-counts.ts';
import { spaceOf } from '../space/space-of-request.ts';
import { searchLayouts, type LayoutSearch, type SearchLimits } from './branch-and-bound.ts';
import { BestLayouts, frontOverGpuCounts, ParetoFront, type MeasuredLayout } from './kept-layouts.ts';
import { RunModels } from './run-models.ts';
import { SimplestLayouts } from './simplest-layouts.ts';
import { newStats, type SearchStats } from './search-stats.ts';

const SECONDS_PER_HOUR = 3600;

/** The goal of a search. */
export interface SearchGoal {
  readonly objective: Objective;
  /** Number of layouts to find. */
  readonly top: number;
  /** Numbers of GPUs to search. Ties keep the first. */
  readonly gpuCounts: readonly number[];
  readonly limits: SearchLimits;
  /** See {@link LayoutSearch}. */
  readonly wanted?: LayoutSearch['wanted'];
}

/** What a search over all GPU counts of a request found. */
export interface SearchResult {
  readonly best: readonly MeasuredLayout[];
  readonly front: readonly MeasuredLayout[];
  /** The simplest layout within the prediction error of the best, on the same number of GPUs. */
  readonly simplest: MeasuredLayout | undefined;
  readonly stats: SearchStats;
}

/** The goal of a request. */
export function goalOf(resolved: ResolvedRequest): SearchGoal {
  const { objective, top } = resolved.request;
  return { objective, top, gpuCounts: gpuCountsOf(resolved), limits: limitsOf(resolved) };
}

/** Searches all numbers of GPUs of a goal. */
export function searchRequest(resolved: ResolvedRequest, goal: SearchGoal): SearchResult {
  const best = new BestLayouts(goal.objective, goal.top);
  const stats = newStats();
  const simplestOf = new Map<number, SimplestLayouts>();
  const fronts = goal.gpuCounts.map((gpus) => {
    const run = runOnGpus(resolved, gpus);
    const front = new ParetoFront();
    const simplest = new SimplestLayouts(1 + PAIRED_ERROR_PCT / 100);
    simplestOf.set(gpus, simplest);
    searchLayouts({
      space: spaceOf(resolved, run),
      models: new RunModels(run, constantsOf(run)),
      limits: goal.limits,
      best,
      front,
      simplest,
      stats,
      smallestFirst: goal.objective === 'memory',
      wanted: goal.wanted,
    });
    return front.layouts;
  });
  const [first] = best.layouts;
  const simplest = first === undefined ? undefined : simplestOf.get(first.gpus)?.simplest;
  return { best: best.layouts, front: frontOverGpuCounts(fronts), simplest, stats };
}

/** Limits of a request: memory with the margin of verdict `fits`, and the step time that meets the deadline. */
function limitsOf(resolved: ResolvedRequest): SearchLimits {
  const { run, request } = resolved;
  return {
    peakBytes: mostAllocatedBytesOf(run, request.memoryMarginShare),
    stepTimeS: deadlineStepTimeS(resolved),
  };
}

function deadlineStepTimeS({ request }: ResolvedRequest): number {
  if (request.deadlineHours === undefined || request.tokens === undefined) return Infinity;
  return (request.deadlineHours * SECONDS_PER_HOUR) / stepsOf(request, request.tokens);
}
