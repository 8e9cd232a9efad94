/** No layout is legal: which rule is in the way, and what is the nearest change that a rule allows? */
import type { PlanAdvice, RuledOut } from '../contract.ts';
import type { ResolvedRequest } from '../request/resolved-request.ts';

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
  const what = `no layout on ${gpus} GPUs is legal`;
  const changes = advice.map(({ sentence }) => sentence);
  const pins = Object.entries(request.pinned ?? {}).map(([name, value]) => `${name} ${value}`);
  const pinned = pins.length === 0 ? [] : [`or leave ${pins.join(', ')} open instead of pinned`];
  const [first] = ruledOut;
  if (first === undefined)
    return [`${what}: the choices that are pinned or allowed go together in none`, ...changes, ...pinned].join('; ');
  const byPerson = CHANGEABLE.flatMap((rule) => ruledOut.filter((broken) => broken.rule === rule));
  return [`${what}: ${(byPerson[0] ?? first).example}`, ...changes, ...pinned].join('; ');
}
