import type { Attempt } from '@coxswain/api-types';
import { deletePods, endLingering, stopGang, stopSeconds } from './actions-of.ts';
import type { Action } from './decision.ts';
import { type Facts, isLive, isTerminal } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { UNWRITTEN_AFTER_MS } from '../observation/unwritten-statuses.ts';
import { finalizerActions } from './finalizer-actions.ts';
import { hasLostStatus, readLive } from './proof.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import type { Situation } from './situation.ts';

/**
 * Actions that release GPUs while the API server fails at the status of the job. A status that is never accepted would otherwise keep the pods of an
 * ended gang for ever. All of them delete pods, whose finalizer keeps the object and its exit codes until its end is recorded.
 *
 * - What the recorded status asks for is done at once: a stopping gang, pods of earlier epochs.
 * - What is decided and cannot be recorded is done after five minutes, and only if another process would decide the same without this status.
 */
export function unrecordedActions(situation: Situation, before: JobRecord): readonly Action[] {
  const { facts } = situation;
  if (hasLostStatus(facts)) return [];
  const isLate = (facts.observed.unwrittenMs ?? 0) >= UNWRITTEN_AFTER_MS;
  if (isLate && facts.deleting) return finalizerActions(situation);
  const actions = [...recordedEnds({ ...situation, record: before }), ...(isLate ? decidedEnd(situation, before) : [])];
  if (actions.length === 0) return [];
  return facts.isProven ? actions : [readLive(situation, before)];
}

function recordedEnds(situation: Situation): readonly Action[] {
  const { record, facts } = situation;
  const epoch = liveAttempt(record)?.epoch;
  const strays = facts.pods.filter((pod) => pod.epoch <= record.epoch && pod.epoch !== epoch && isLive(facts, pod));
  return [...deletePods(strays, 1), ...stopGang(situation), ...endLingering(situation)];
}

function decidedEnd({ facts, record }: Situation, before: JobRecord): readonly Action[] {
  const then = liveAttempt(before);
  const now = record.attempts.find(({ epoch }) => epoch === then?.epoch);
  if (then === undefined || now === undefined || then.stage === 'Stopping') return [];
  const pods = podsOf(facts, then.epoch);
  if (!['Stopping', 'Ended'].includes(now.stage) || !isEndKept({ then, now, pods, facts })) return [];
  const targets = pods.filter((pod) => pod.lingers === true || isLive(facts, pod)).filter(isReportKept);
  return deletePods(targets, stopSeconds(facts, now));
}

/** Whether the end of the attempt follows from the spec or from pods that stay, so that it is recorded in the same way later. */
function isEndKept(end: {
  readonly then: Attempt;
  readonly now: Attempt;
  readonly pods: readonly ObservedPod[];
  readonly facts: Facts;
}): boolean {
  const { then, now, pods, facts } = end;
  if (facts.deleting || facts.suspend || facts.cancel || then.stage === 'Creating') return true;
  if (pods.length > 0 && pods.every(isTerminal)) return true;
  return now.outcome === 'Failed' && pods.some((pod) => pod.held && pod.phase === 'Failed');
}

/** Whether the pod has nothing to report, or its finalizer keeps it. */
function isReportKept(pod: ObservedPod): boolean {
  return pod.held || pod.nodeName === undefined;
}
