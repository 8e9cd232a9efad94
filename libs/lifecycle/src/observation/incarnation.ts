/** Which run of the ranks in the pods of an epoch is meant, and what do its launchers do? */
import type { Attempt, EndedIncarnation, TerminationCause } from '@coxswain/api-types';
import { type Facts, isTerminal, nodeStateOf } from './facts.ts';
import { podsOf } from './gang.ts';
import type { ObservedLauncher, ObservedPod } from './observed.ts';

/** Whose reports, rendezvous and saves count: those of one run of the ranks in the pods of one epoch. */
export interface Fence {
  readonly epoch: number;
  readonly incarnation: number;
}

/** The fence as status, cause or report name it; absent means the first incarnation. */
export function fenceOf({
  epoch,
  incarnation = 1,
}: {
  readonly epoch: number;
  readonly incarnation?: number | undefined;
}): Fence {
  return { epoch, incarnation };
}

/** Whether what was said is of the attempt's current incarnation. */
export function isOfFence(
  said: Pick<TerminationCause, 'epoch' | 'incarnation'> | undefined,
  attempt: Pick<Attempt, 'epoch' | 'incarnation'>,
): boolean {
  return said?.epoch === attempt.epoch && (said.incarnation ?? 1) === (attempt.incarnation ?? 1);
}

/** Whether the pod told its end as one of a run of its epoch that was answered already. */
export function isOfEarlierIncarnation(cause: TerminationCause | undefined, attempt: Attempt): boolean {
  return cause?.epoch === attempt.epoch && (cause.incarnation ?? 1) < (attempt.incarnation ?? 1);
}

/**
 * Whether the pod ended before its ranks were started again: it tells its end as one of an earlier incarnation, and nobody knows of the current one
 * in it. Where that has run, what it tells is left over: a launcher that dies writes nothing, and its message of the time before stays.
 */
export function isLeftBehind(facts: Facts, pod: ObservedPod, attempt: Attempt): boolean {
  const hasBegun = attempt.runningAt !== undefined || isBegun([launcherOf(facts, pod, attempt)], fenceOf(attempt));
  return isTerminal(pod) && isOfEarlierIncarnation(pod.exit?.cause, attempt) && !hasBegun;
}

/** Where that incarnation of the attempt began; undefined: from scratch, or it is not remembered. */
export function resumedFromOf(attempt: Attempt, incarnation: number): EndedIncarnation['resumedFrom'] {
  if (incarnation === (attempt.incarnation ?? 1)) return attempt.resumedFrom;
  return attempt.incarnations?.find((one) => one.incarnation === incarnation)?.resumedFrom;
}

/** What the pod's launcher last said, as far as it is of the attempt's epoch. */
export function launcherOf(
  facts: Facts,
  pod: ObservedPod,
  { epoch }: Pick<Attempt, 'epoch'>,
): ObservedLauncher | undefined {
  const launcher = facts.observed.launchers?.get(pod.uid);
  return launcher?.epoch === epoch ? launcher : undefined;
}

/**
 * Whether nothing of an earlier incarnation runs in a pod any more, by its launcher's own word: it runs nothing, or has been given this one.
 * Whoever was given ranks runs them until it says otherwise, and silence proves nothing.
 */
export function hasReaped(launcher: ObservedLauncher | undefined, { epoch, incarnation }: Fence): boolean {
  if (launcher?.epoch !== epoch) return false;
  if (launcher.incarnation >= incarnation) return true;
  return launcher.state !== 'running';
}

/** Whether somebody was given this incarnation already: then all had reaped the last one, whoever has been heard since. */
export function isBegun(launchers: Iterable<ObservedLauncher | undefined>, { epoch, incarnation }: Fence): boolean {
  return [...launchers].some((one) => one?.epoch === epoch && one.incarnation >= incarnation);
}

/** Pods of the attempt in which ranks of an earlier incarnation may run. Those that have ended do not hold it up: they are a failure. */
export function unreapedPods(facts: Facts, attempt: Attempt): readonly ObservedPod[] {
  const fence = fenceOf(attempt);
  const pods = podsOf(facts, attempt.epoch).filter((pod) => !isTerminal(pod));
  const launchers = pods.map((pod) => launcherOf(facts, pod, attempt));
  if (fence.incarnation === 1 || isBegun(launchers, fence)) return [];
  return pods.filter((_pod, index) => !hasReaped(launchers[index], fence));
}

/** Pods of the attempt whose launcher has not said yet that it runs the current incarnation. */
export function pausedPods(facts: Facts, attempt: Attempt): readonly ObservedPod[] {
  return podsOf(facts, attempt.epoch).filter((pod) => {
    const launcher = launcherOf(facts, pod, attempt);
    const runs = launcher?.incarnation === attempt.incarnation && launcher?.state === 'running';
    return !isTerminal(pod) && !runs;
  });
}

/** Whether ranks can be started in that pod: its container runs on a node that answers, and nobody wants it away. */
export function isAlive(facts: Facts, pod: ObservedPod): boolean {
  return (
    pod.running &&
    !isTerminal(pod) &&
    pod.deletionTimestamp === undefined &&
    pod.disruption === undefined &&
    nodeStateOf(facts, pod.nodeName) === 'ready'
  );
}
