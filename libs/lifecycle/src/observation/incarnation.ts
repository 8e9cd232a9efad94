/** Which run of an attempt's ranks is meant, and what do its launchers report? */
import type { Attempt, EndedIncarnation, TerminationCause } from '@coxswain/api-types';
import { type Facts, isTerminal, nodeStateOf } from './facts.ts';
import { podsOf } from './gang.ts';
import type { ObservedPod } from './observed.ts';
import type { ObservedLauncher } from './observed-launcher.ts';

/** Identifies one run of the ranks of an attempt. Only its reports, rendezvous and saves are accepted. */
export interface Fence {
  readonly epoch: number;
  readonly incarnation: number;
}

/** The fence that a status, cause or report names; an absent incarnation is the first. */
export function fenceOf({
  epoch,
  incarnation = 1,
}: {
  readonly epoch: number;
  readonly incarnation?: number | undefined;
}): Fence {
  return { epoch, incarnation };
}

/** Whether the report belongs to the attempt's current incarnation. */
export function isOfFence(
  report: Pick<TerminationCause, 'epoch' | 'incarnation'> | undefined,
  attempt: Pick<Attempt, 'epoch' | 'incarnation'>,
): boolean {
  return report?.epoch === attempt.epoch && (report.incarnation ?? 1) === (attempt.incarnation ?? 1);
}

/** Whether the pod's end belongs to an earlier incarnation of its epoch, which was answered already. */
export function isOfEarlierIncarnation(cause: TerminationCause | undefined, attempt: Attempt): boolean {
  return cause?.epoch === attempt.epoch && (cause.incarnation ?? 1) < (attempt.incarnation ?? 1);
}

/**
 * Whether the pod ended before its ranks restarted: its end belongs to an earlier incarnation, and no launcher of it reported the current
 * one. If that has run, the cause is left over: a launcher that dies writes none, and the earlier message stays.
 */
export function isLeftBehind(facts: Facts, pod: ObservedPod, attempt: Attempt): boolean {
  const hasBegun = attempt.runningAt !== undefined || isBegun([launcherOf(facts, pod, attempt)], fenceOf(attempt));
  return isTerminal(pod) && isOfEarlierIncarnation(pod.exit?.cause, attempt) && !hasBegun;
}

/** The checkpoint that the incarnation began from; undefined: from scratch, or it is not recorded any more. */
export function resumedFromOf(attempt: Attempt, incarnation: number): EndedIncarnation['resumedFrom'] {
  if (incarnation === (attempt.incarnation ?? 1)) return attempt.resumedFrom;
  return attempt.incarnations?.find((one) => one.incarnation === incarnation)?.resumedFrom;
}

/** The last report of the pod's launcher, if it is about the attempt's epoch. */
export function launcherOf(
  facts: Facts,
  pod: ObservedPod,
  { epoch }: Pick<Attempt, 'epoch'>,
): ObservedLauncher | undefined {
  const launcher = facts.observed.launchers?.get(pod.uid);
  return launcher?.epoch === epoch ? launcher : undefined;
}

/**
 * Whether the launcher reports that no earlier incarnation runs: it runs nothing, or was assigned this one. An assigned launcher counts as
 * running until it reports otherwise; silence proves nothing.
 */
export function hasReaped(launcher: ObservedLauncher | undefined, { epoch, incarnation }: Fence): boolean {
  if (launcher?.epoch !== epoch) return false;
  if (launcher.incarnation >= incarnation) return true;
  return launcher.state !== 'running';
}

/** Whether a launcher was assigned this incarnation. All launchers had then ended the previous one, even those that are silent since. */
export function isBegun(launchers: Iterable<ObservedLauncher | undefined>, { epoch, incarnation }: Fence): boolean {
  return [...launchers].some((one) => one?.epoch === epoch && one.incarnation >= incarnation);
}

/** Pods of the attempt that may still run ranks of an earlier incarnation. Ended pods are not among them: they are a failure. */
export function unreapedPods(facts: Facts, attempt: Attempt): readonly ObservedPod[] {
  const fence = fenceOf(attempt);
  const pods = podsOf(facts, attempt.epoch).filter((pod) => !isTerminal(pod));
  const launchers = pods.map((pod) => launcherOf(facts, pod, attempt));
  if (fence.incarnation === 1 || isBegun(launchers, fence)) return [];
  return pods.filter((_pod, index) => !hasReaped(launchers[index], fence));
}

/** Pods of the attempt whose launcher has not reported that it runs the current incarnation. */
export function pausedPods(facts: Facts, attempt: Attempt): readonly ObservedPod[] {
  return podsOf(facts, attempt.epoch).filter((pod) => {
    const launcher = launcherOf(facts, pod, attempt);
    const runs = launcher?.incarnation === attempt.incarnation && launcher?.state === 'running';
    return !isTerminal(pod) && !runs;
  });
}

/** Whether ranks can start in that pod: its container runs, its node answers, and nothing is about to remove it. */
export function isAlive(facts: Facts, pod: ObservedPod): boolean {
  return pod.running && !isDoomed(facts, pod);
}

/** Whether the pod has ended, is about to be removed, or its node does not answer. One that still starts is not doomed. */
export function isDoomed(facts: Facts, pod: ObservedPod): boolean {
  return (
    isTerminal(pod) ||
    pod.deletionTimestamp !== undefined ||
    pod.disruption !== undefined ||
    nodeStateOf(facts, pod.nodeName) !== 'ready'
  );
}
