/** Plans: finds the best layouts for a model on a cluster, and which rules exclude the others. */
import type { Plan, PlanAnswer, PlanRequest, RuledOut } from '../contract.ts';
import { assumptionsOf } from '../answer/assumptions.ts';
import { adviceOf } from './advice.ts';
import { selectLayouts } from '../answer/select-layouts.ts';
import { calibrationSentence } from '../calibration/calibration-in-use.ts';
import { closestPlanOf } from './closest-plan.ts';
import { withLayoutWithoutOffload } from './without-offload.ts';
import { withNearExamples, type AnsweredLayout } from './near-examples.ts';
import { runOfLayout } from './predict.ts';
import { explainNoLayout } from './explain-no-layout.ts';
import { withOtherSchedules } from './other-schedules.ts';
import { withAssumedEngine } from '../request/assumed-engine.ts';
import { planOf } from '../answer/plan-of-layout.ts';
import { resolveRequest, runOnGpus, type ResolvedRequest } from '../request/resolved-request.ts';
import type { MeasuredLayout } from '../search/kept-layouts.ts';
import { isRule, type SearchStats } from '../search/search-stats.ts';
import { goalOf, searchRequest } from '../search/search-request.ts';

interface PlanOptions {
  /** Whether the answer has advice about fewer GPUs and other batches. Absent: true. */
  readonly withAdvice?: boolean;
}

/**
 * The best layouts for a request, exact over the space that `search-space.ts` states.
 *
 * @throws DomainError INVALID_REQUEST for an unknown preset, with the nearest names.
 */
export function plan(request: PlanRequest, { withAdvice = true }: PlanOptions = {}): PlanAnswer {
  const asked = resolveRequest(request);
  const resolved = withAssumedEngine(asked);
  const goal = goalOf(resolved);
  const found = searchRequest(resolved, goal);
  const usual = withLayoutWithoutOffload(resolved, goal, selectLayouts(found, request));
  const selected = withOtherSchedules(asked, goal, usual);
  const plans = selected.map((layout) => planOf(resolved, layout));
  const [best] = plans;
  const closest = best === undefined ? closestPlanOf(resolved, goal.limits) : undefined;
  const advice = withAdvice ? adviceOf(resolved, goal.limits, best) : [];
  const { stats } = found;
  const ruledOut = withNearExamples(
    resolved,
    ruledOutOf(stats),
    answeredLayout(resolved, { selected: selected[0], closest: closest?.plan, counts: goal.gpuCounts }),
    goal.limits,
  );
  const broken = ruledOut.reduce((sum, rule) => sum + (isRule(rule) ? rule.count : 0), 0);
  const legal = stats.enumerated - stats.repeated - broken;
  return {
    ...(best === undefined ? {} : { best }),
    plans,
    pareto: found.front.map((layout) => planOf(resolved, layout)),
    ...(closest === undefined ? {} : { closest }),
    ...(advice.length === 0 ? {} : { advice }),
    ...(best === undefined && closest === undefined ? { whyNothing: explainNoLayout(resolved, ruledOut, advice) } : {}),
    ruledOut,
    counted: {
      enumerated: stats.enumerated,
      legal,
      fitting: legal - ruledOut.reduce((sum, rule) => sum + (isRule(rule) ? 0 : rule.count), 0),
      bounded: stats.bounded,
      timed: stats.timed,
    },
    calibration: calibrationSentence(),
    assumptions: assumptionsOf(resolved),
  };
}

/** The layout and number of GPUs of the answer; all GPUs if there is no layout. */
function answeredLayout(
  resolved: ResolvedRequest,
  {
    selected,
    closest,
    counts,
  }: { selected: MeasuredLayout | undefined; closest: Plan | undefined; counts: readonly number[] },
): AnsweredLayout {
  if (selected !== undefined) return selected;
  if (closest === undefined) return { gpus: Math.max(...counts) };
  const { gpus } = closest;
  return { gpus, candidate: runOfLayout(runOnGpus(resolved, gpus), closest).candidate };
}

function ruledOutOf(stats: SearchStats): RuledOut[] {
  return [...stats.ruledOut]
    .map(([rule, { count, example }]) => ({ rule, count, example }))
    .sort((a, b) => b.count - a.count);
}
