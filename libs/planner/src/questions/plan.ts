/** Which layout is best for a model on a cluster, and what rules out the rest? */
import type { PlanAnswer, PlanRequestInput, RuledOut } from '../contract.ts';
import { assumptionsOf } from '../answer/assumptions.ts';
import { calibrationSentence } from '../calibration/calibration-in-use.ts';
import { closestPlanOf } from './closest-plan.ts';
import { planOf } from '../answer/plan-of-layout.ts';
import { planRequestOf, runBaseOf } from '../request/run-base.ts';
import type { SearchTally } from '../search/branch-and-bound.ts';
import { limitsOf, searchRequest } from '../search/search-request.ts';

/**
 * The best layouts for a request, exact over the space that `search-space.ts` states.
 *
 * @throws DomainError INVALID_REQUEST naming the field, its value, the rule and what to do.
 */
export function plan(input: PlanRequestInput): PlanAnswer {
  const request = planRequestOf(input);
  const found = searchRequest(request, limitsOf(request));
  const plans = found.best.map((layout) => planOf(request, layout));
  const [best] = plans;
  const closest = best === undefined ? closestPlanOf(request) : undefined;
  const { tally } = found;
  const ruledOut = ruledOutOf(tally);
  const broken = ruledOut.reduce((sum, rule) => sum + (isRule(rule) ? rule.count : 0), 0);
  const legal = tally.enumerated - tally.repeated - broken;
  return {
    ...(best === undefined ? {} : { best }),
    plans,
    pareto: found.front.map((layout) => planOf(request, layout)),
    ...(closest === undefined ? {} : { closest }),
    ruledOut,
    counted: {
      enumerated: tally.enumerated,
      legal,
      fitting: legal - ruledOut.reduce((sum, rule) => sum + (isRule(rule) ? 0 : rule.count), 0),
      bounded: tally.bounded,
      timed: tally.timed,
    },
    calibration: calibrationSentence(),
    assumptions: assumptionsOf(request, runBaseOf(request)),
  };
}

/** Memory and the deadline exclude layouts that are legal. */
function isRule({ rule }: RuledOut): boolean {
  return rule !== 'memory' && rule !== 'deadline';
}

function ruledOutOf(tally: SearchTally): RuledOut[] {
  return [...tally.ruledOut]
    .map(([rule, { count, example }]) => ({ rule, count, example }))
    .sort((a, b) => b.count - a.count);
}
