/** Which pods run whose launcher has never reached the operator, so that their ranks have not started? */
import type { Attempt } from '@coxswain/api-types';
import { doesAnswer, type Facts, isTerminal, nodeStateOf } from './facts.ts';
import { podsOf } from './gang.ts';
import { hearsFew } from './hearing.ts';
import type { ObservedPod } from './observed.ts';
import { isOver, type Wait } from './waits.ts';

/** Launchers connect within seconds. After this time the condition names those that have not. */
const NAMED_MS = 30_000;

/** What to check where a launcher does not reach the operator. The operator cannot see why: the connection ends before the pod is known. */
export const HOW_TO_REACH =
  'The log of the pod names the cause. Usual causes: a wrong clock of the node (the certificate is not valid yet, or has expired), another authority, a NetworkPolicy, a proxy, a name that cannot be resolved.';

/**
 * Only the leader that began the attempt can judge it: for a later leader, a launcher that trains and cannot connect is silent too. A known
 * step or save shows that every rank has begun. Nodes that do not answer have their own waits.
 */
export function unheardPods(facts: Facts, attempt: Attempt): readonly ObservedPod[] {
  const { reportAgesMs, leaderTerm } = facts.observed;
  const isFromTheBegin = leaderTerm !== undefined && attempt.leaderTerm === leaderTerm;
  if (attempt.runningAt === undefined || reportAgesMs === undefined || !isFromTheBegin) return [];
  if ((attempt.incarnation ?? 1) > 1 || hasTrained(facts, attempt)) return [];
  const silent = podsOf(facts, attempt.epoch).filter(
    (pod) =>
      pod.running && !isTerminal(pod) && doesAnswer(nodeStateOf(facts, pod.nodeName)) && !reportAgesMs.has(pod.uid),
  );
  return hearsFew(facts.observed.hearing?.()) ? [] : silent;
}

/** The wait after which the condition names them; undefined: every launcher was heard. */
export function unheardWait(facts: Facts, attempt: Attempt): Wait | undefined {
  return unheardPods(facts, attempt).length === 0 ? undefined : { key: `e${attempt.epoch}/unheard`, limitMs: NAMED_MS };
}

/** The sentence about launchers that have not reached the operator; undefined: there are none, or not for long. */
export function describeUnheard(facts: Facts, attempt: Attempt): string | undefined {
  const wait = unheardWait(facts, attempt);
  const [pod, ...others] = unheardPods(facts, attempt);
  if (wait === undefined || pod === undefined || !isOver(facts, wait)) return undefined;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `The launcher of pod ${pod.name} on node ${pod.nodeName ?? 'unknown'}${more} has not reached the operator, so the ranks of attempt ${attempt.epoch} have not started. ${HOW_TO_REACH}`;
}

/** Whether this attempt has trained; status keeps progress of the current attempt only. */
function hasTrained({ job, observed, checkpoints }: Facts, { epoch }: Attempt): boolean {
  const isReported = observed.progress?.epoch === epoch || job.status?.progress !== undefined;
  return isReported || checkpoints.some(({ spec }) => spec.epoch === epoch);
}
