/** Puts layouts that offload to host memory after those that do not, and adds one that does not if there is none. */
import { rankLayouts } from '../answer/select-layouts.ts';
import type { ResolvedRequest } from '../request/resolved-request.ts';
import { FRONT_SLOWDOWN, type MeasuredLayout } from '../search/kept-layouts.ts';
import { searchRequest, type SearchGoal } from '../search/search-request.ts';

/**
 * The selected layouts, those without offloading first. If all of them offload to host memory, the last is replaced by the best layout that does not, if it
 * fits and takes at most {@link FRONT_SLOWDOWN} times as long. Offloading has risks that predictions do not cover (pinned memory, NUMA, other jobs of the node),
 * so a user should choose it, and see what avoiding it costs. With objective `memory` nothing changes.
 */
export function withLayoutWithoutOffload(
  resolved: ResolvedRequest,
  goal: SearchGoal,
  selected: readonly MeasuredLayout[],
): readonly MeasuredLayout[] {
  const [first] = selected;
  if (first === undefined || goal.objective === 'memory' || goal.top < 2) return selected;
  if (!selected.every(offloads)) return offloadedLast(selected);
  const { stepTimeS, peakBytes } = goal.limits;
  const found = searchRequest(
    { ...resolved, allow: { ...resolved.allow, offload: false } },
    {
      ...{ objective: goal.objective, top: 1, gpuCounts: [first.gpus], wanted: 'simplest' },
      limits: { peakBytes, stepTimeS: Math.min(stepTimeS, FRONT_SLOWDOWN * first.stepTimeS) },
    },
  );
  const [best] = found.best;
  if (best === undefined || offloads(best)) return selected;
  return [found.simplest ?? best, first, ...rankLayouts(selected.slice(1, goal.top - 1), goal.objective)];
}

/** In their order, but for what is offloaded. */
function offloadedLast(selected: readonly MeasuredLayout[]): readonly MeasuredLayout[] {
  return [...selected.filter((layout) => !offloads(layout)), ...selected.filter(offloads)];
}

function offloads({ candidate }: MeasuredLayout): boolean {
  return candidate.offloadOptimizer > 0 || candidate.offloadActivations > 0 || candidate.offloadWeights > 0;
}
