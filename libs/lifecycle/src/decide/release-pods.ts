import type { Action } from './decision.ts';
import { type Facts, isLive, placementOf, willNeverRun } from '../observation/facts.ts';
import { replacedPods, standbysOf } from '../observation/gang.ts';
import { gangName } from '@coxswain/api-types';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { toReference } from './pod-reference.ts';
import type { Situation } from './situation.ts';

/**
 * Removes our finalizer from pods whose end is known. Each pod is created with it, so that a pod which ends and is deleted while no
 * operator leads is still observed. Its exit code then counts as success or failure, and the pod does not count as lost.
 *
 * A pod is released once the end of its attempt is recorded and the pod has ended or is fenced. A pod that was deleted before it had a node
 * reports nothing; while its gang is being created, it only blocks the name of its successor. No live read is needed: a recorded end is
 * final, and if the cached status is older than the pods, a newer status is derived first and the server answers with a conflict.
 *
 * Of a gang that runs, pods without ranks are released: one that lost its ranks, whose end is recorded, and a deleted standby, which has none.
 */
export function releasePods({ record, facts }: Situation): readonly Action[] {
  const attempt = liveAttempt(record);
  const withoutRanks = new Set(
    attempt === undefined ? [] : [...replacedPods(facts, attempt), ...endedStandbys(record, facts)],
  );
  const isOver = (pod: ObservedPod): boolean =>
    attempt?.epoch === pod.epoch && !withoutRanks.has(pod)
      ? attempt.stage === 'Creating' && willNeverRun(pod)
      : !isLive(facts, pod);
  const pods = facts.pods.filter((pod) => pod.held && pod.epoch <= record.epoch && isOver(pod));
  if (pods.length === 0) return [];
  const ended = new Set(pods.map(({ epoch }) => epoch).filter((epoch) => epoch !== attempt?.epoch));
  return [
    ...[...ended].flatMap((epoch) => deleteComputeDomain(facts, epoch)),
    { kind: 'releasePods', pods: pods.map(toReference) },
  ];
}

/** Standbys of the gang that runs that were deleted, carry our finalizer and have ended. In an older status, a pod that holds ranks by now is a standby too. */
export function endedStandbys(record: JobRecord, facts: Facts): readonly ObservedPod[] {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released') return [];
  // One that is recorded as lost is released too.
  return standbysOf(facts, { ...attempt, lostStandbys: [] }).filter(
    (pod) => pod.held && pod.deletionTimestamp !== undefined && !isLive(facts, pod),
  );
}

/**
 * Deletes the ComputeDomain with the last pod of its gang, because peers keep memory of missing pods as long as the domain exists. If a
 * gang never had a pod, its domain is deleted with the job, which owns it.
 */
function deleteComputeDomain(facts: Facts, epoch: number): readonly Action[] {
  const placement = placementOf(facts, epoch);
  if (placement?.spec.runtime?.computeDomain === undefined) return [];
  if (facts.pods.some((pod) => pod.epoch === epoch && isLive(facts, pod))) return [];
  const name = gangName(facts.job.metadata, { epoch, placement: placement.metadata.name });
  return [{ kind: 'deleteComputeDomain', name }];
}
