/** Which launchers of a failed gang end by themselves, so that their pods stay with their logs? */
import type { Attempt } from '@coxswain/api-types';
import { doesAnswer, type Facts, isLive, nodeStateOf } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { isOver, type Wait } from '../observation/waits.ts';

/**
 * How long a launcher that the operator refuses has to end its ranks and itself. Nearly all end within a second; ten allow for ranks that
 * free much memory. Then the pod is deleted, and its log goes with it.
 */
const LAUNCHERS_END_MS = 10_000;

/** A launcher reports every ten seconds. One that has missed three reports does not receive the refusal either. */
const HEARD_WITHIN_MS = 30_000;

/** The pods of a failed gang whose launchers still have time to end by themselves. The others are deleted at once. */
export function endingByThemselves(facts: Facts, attempt: Attempt): readonly ObservedPod[] {
  const pods = reachablePods(facts, attempt);
  return pods.length === 0 || isOver(facts, waitOf(attempt)) ? [] : pods;
}

/** The wait for these launchers; undefined: there are none. */
export function launchersEndWait(facts: Facts, attempt: Attempt): Wait | undefined {
  return reachablePods(facts, attempt).length === 0 ? undefined : waitOf(attempt);
}

function waitOf({ epoch }: Attempt): Wait {
  return { key: `e${epoch}/launchers-end`, limitMs: LAUNCHERS_END_MS };
}

/** Nothing is kept of a job that is being deleted, so its pods are not waited for. */
function reachablePods(facts: Facts, attempt: Attempt): readonly ObservedPod[] {
  if (facts.deleting || attempt.stage !== 'Stopping' || attempt.outcome !== 'Failed') return [];
  return podsOf(facts, attempt.epoch).filter((pod) => isReachable(facts, pod) && isLive(facts, pod));
}

function isReachable(facts: Facts, pod: ObservedPod): boolean {
  const heardMs = facts.observed.reportAgesMs?.get(pod.uid) ?? Number.POSITIVE_INFINITY;
  return (
    pod.running &&
    pod.deletionTimestamp === undefined &&
    heardMs <= HEARD_WITHIN_MS &&
    doesAnswer(nodeStateOf(facts, pod.nodeName))
  );
}
