/** Every layout that is told keeps something on the host: which one does not, and how much slower is it? */
import { byRank } from '../answer/select-layouts.ts';
import type { ResolvedRequest } from '../request/resolved-request.ts';
import { FRONT_SLOWDOWN, type MeasuredLayout } from '../search/kept-layouts.ts';
import { searchRequest, type SearchGoal } from '../search/search-request.ts';

/**
 * The layouts that are told, of which the last is exchanged for the best one that keeps all on the GPUs, where none does and such a one fits and is no more than
 * {@link FRONT_SLOWDOWN} times slower: copies to the host go wrong in ways that predictions do not know (pinned memory, NUMA, other jobs of the node), so whoever chooses
 * is to see what it costs to do without. Of the smallest layouts nothing is exchanged.
 */
export function toldWithOneUnoffloaded(
  resolved: ResolvedRequest,
  goal: SearchGoal,
  told: readonly MeasuredLayout[],
): readonly MeasuredLayout[] {
  const [first] = told;
  if (first === undefined || goal.objective === 'memory' || goal.top < 2 || !told.every(offloads)) return told;
  const { stepTimeS, peakBytes } = goal.limits;
  const found = searchRequest(
    { ...resolved, allow: { ...resolved.allow, offload: false } },
    {
      ...{ objective: goal.objective, top: 1, gpuCounts: [first.gpus], wanted: 'simplest' },
      limits: { peakBytes, stepTimeS: Math.min(stepTimeS, FRONT_SLOWDOWN * first.stepTimeS) },
    },
  );
  const [best] = found.best;
  if (best === undefined || offloads(best)) return told;
  return [first, ...byRank([...told.slice(1, goal.top - 1), found.simplest ?? best], goal.objective)];
}

function offloads({ candidate }: MeasuredLayout): boolean {
  return candidate.offloadOptimizer > 0 || candidate.offloadActivations > 0 || candidate.offloadWeights > 0;
}
