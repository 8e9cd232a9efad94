/** Adds the best layout with a schedule that the assumed engine does not run. */
import type { ResolvedRequest } from '../request/resolved-request.ts';
import { otherSchedulesOf } from '../request/assumed-engine.ts';
import type { MeasuredLayout } from '../search/kept-layouts.ts';
import { searchRequest, type SearchGoal } from '../search/search-request.ts';

/**
 * The selected layouts. The best layout with another schedule replaces the last one if it is faster than the first. So the user sees what an
 * engine with such schedules would gain. `asked` has all choices of the request, and not those of the assumed engine alone.
 */
export function withOtherSchedules(
  asked: ResolvedRequest,
  goal: SearchGoal,
  selected: readonly MeasuredLayout[],
): readonly MeasuredLayout[] {
  const [first] = selected;
  const schedules = otherSchedulesOf(asked);
  if (first === undefined || schedules.length === 0 || goal.top < 2 || goal.objective === 'memory') return selected;
  const { best } = searchRequest(
    { ...asked, allow: { ...asked.allow, schedules: [...schedules] } },
    {
      ...{ objective: goal.objective, top: 1, gpuCounts: [first.gpus], wanted: 'best' },
      limits: { ...goal.limits, stepTimeS: Math.min(goal.limits.stepTimeS, first.stepTimeS) },
    },
  );
  const [other] = best;
  const isFaster = other !== undefined && schedules.includes(other.candidate.schedule);
  return isFaster && other.stepTimeS < first.stepTimeS ? [...selected.slice(0, goal.top - 1), other] : selected;
}
