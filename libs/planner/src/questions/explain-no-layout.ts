/** Explains why no layout is legal, and which change would help. */
import { divisorsOf } from '@coxswain/layout';
import type { PlanAdvice, PlanRequest, RuledOut } from '../contract.ts';
import type { ResolvedRequest } from '../request/resolved-request.ts';
import { isRule } from '../search/search-stats.ts';
import { counted } from './figures.ts';

/** Rules that a user can satisfy without changing the model; they are reported first. */
const CHANGEABLE = [
  'dataTimesMicroBatchDividesGlobalBatch',
  'microBatchesFillGroups',
  'contextDividesSequence',
  'tensorDividesAttentionHeads',
];

/** A message: the excluding rule with an example, then advice, then pins to remove. */
export function explainNoLayout(
  { request, run }: ResolvedRequest,
  ruledOut: readonly RuledOut[],
  advice: readonly PlanAdvice[],
): string {
  const { gpus } = run.cluster;
  const what = `no layout on ${counted(gpus)} GPUs is legal`;
  const changes = advice.map(({ sentence }) => sentence);
  const pins = Object.entries(request.pinned ?? {}).map(([name, value]) => `${name} ${value}`);
  const or = changes.length === 0 ? '' : 'or ';
  const pinned = pins.length === 0 ? [] : [`${or}do not pin ${pins.join(', ')}`];
  // The search does not check all rules for layouts that are too large, so a broken rule comes before the memory limit.
  const [first] = [...ruledOut.filter(isRule), ...ruledOut];
  if (first === undefined) return [`${what}: ${explainNoMesh(request, gpus)}`, ...changes, ...pinned].join('; ');
  const byPerson = CHANGEABLE.flatMap((rule) => ruledOut.filter((broken) => broken.rule === rule));
  return [`${what}: ${(byPerson[0] ?? first).example}`, ...changes, ...pinned].join('; ');
}

/** Degrees whose product is the number of GPUs. */
const DENSE_AXES = ['tensor', 'context', 'pipeline', 'data'] as const;

/** Why the search space is empty: pinned degrees do not divide the GPUs, or the allowed choices exclude each other. */
function explainNoMesh({ pinned = {} }: PlanRequest, gpus: number): string {
  const degrees = DENSE_AXES.flatMap((axis) => (pinned[axis] === undefined ? [] : [{ axis, degree: pinned[axis] }]));
  const ranks = degrees.reduce((product, { degree }) => product * degree, 1);
  if (gpus % ranks === 0) return 'no layout combines the pinned and allowed choices';
  const shown = degrees.map(({ axis, degree }) => `${axis} ${degree}`).join(' x ');
  const [only] = degrees;
  if (degrees.length > 1 || only === undefined)
    return `pinned ${shown} are ${ranks} ranks, which do not divide ${gpus} GPUs; ${nearestDivisors(gpus, ranks)} ranks would`;
  return `pinned ${shown} does not divide ${gpus} GPUs; ${nearestDivisors(gpus, ranks)} would`;
}

/** The nearest divisors below and above, such as `4 or 8`. */
function nearestDivisors(whole: number, wanted: number): string {
  const divisors = [...divisorsOf(whole)].sort((a, b) => a - b);
  const below = divisors.filter((divisor) => divisor < wanted).at(-1);
  const above = divisors.find((divisor) => divisor > wanted);
  return [below, above].filter((divisor) => divisor !== undefined).join(' or ');
}
