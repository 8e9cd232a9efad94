/** No layout is legal: which rule is in the way, and what is the nearest change that a rule allows? */
import { divisorsOf } from '@coxswain/layout';
import type { PlanAdvice, PlanRequest, RuledOut } from '../contract.ts';
import type { ResolvedRequest } from '../request/resolved-request.ts';
import { isRule } from '../search/search-stats.ts';
import { counted } from './figures.ts';

/** Rules of what a person can change without changing the model come first. */
const CHANGEABLE = [
  'dataTimesMicroBatchDividesGlobalBatch',
  'microBatchesFillGroups',
  'contextDividesSequence',
  'tensorDividesAttentionHeads',
];

export function whyNothing(
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
  // What is too large is looked at for rules no further, and without limits was found to break one.
  const [first] = [...ruledOut.filter(isRule), ...ruledOut];
  if (first === undefined) return [`${what}: ${whyNoMesh(request, gpus)}`, ...changes, ...pinned].join('; ');
  const byPerson = CHANGEABLE.flatMap((rule) => ruledOut.filter((broken) => broken.rule === rule));
  return [`${what}: ${(byPerson[0] ?? first).example}`, ...changes, ...pinned].join('; ');
}

/** Degrees whose product is the number of GPUs. */
const DENSE_AXES = ['tensor', 'context', 'pipeline', 'data'] as const;

/** Not one combination was there to be excluded by a rule: pinned degrees do not divide the GPUs, or what is allowed leaves nothing. */
function whyNoMesh({ pinned = {} }: PlanRequest, gpus: number): string {
  const degrees = DENSE_AXES.flatMap((axis) => (pinned[axis] === undefined ? [] : [{ axis, degree: pinned[axis] }]));
  const ranks = degrees.reduce((product, { degree }) => product * degree, 1);
  if (gpus % ranks === 0) return 'no layout combines the pinned and allowed choices';
  const told = degrees.map(({ axis, degree }) => `${axis} ${degree}`).join(' x ');
  const [only] = degrees;
  if (degrees.length > 1 || only === undefined)
    return `pinned ${told} are ${ranks} ranks, which do not divide ${gpus} GPUs; ${nearestDivisors(gpus, ranks)} ranks would`;
  return `pinned ${told} does not divide ${gpus} GPUs; ${nearestDivisors(gpus, ranks)} would`;
}

/** `4 or 8`: the nearest on both sides, as far as there are two. */
function nearestDivisors(whole: number, wanted: number): string {
  const divisors = [...divisorsOf(whole)].sort((a, b) => a - b);
  const below = divisors.filter((divisor) => divisor < wanted).at(-1);
  const above = divisors.find((divisor) => divisor > wanted);
  return [below, above].filter((divisor) => divisor !== undefined).join(' or ');
}
