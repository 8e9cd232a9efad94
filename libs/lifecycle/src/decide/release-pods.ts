import type { Action } from './decision.ts';
import { type Facts, isLive, placementOf, willNeverRun } from '../observation/facts.ts';
import { gangName } from '@coxswain/api-types';
import { liveAttempt } from '../record/job-record.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { toReference } from './pod-reference.ts';
import type { Situation } from './situation.ts';

/**
 * Lets go of the pods that have nothing left to say. Each pod is made with a finalizer of ours, so that one that ends and is deleted while
 * nobody leads is still seen: with its exit code it counts as what it was, a success or a failure, and not as lost.
 *
 * A pod is let go of once the end of its attempt is recorded, and it has ended itself or is fenced. One that was deleted before it had a node
 * says nothing; while its gang is being created it only stands in the way of its successor. This needs no live read: an attempt that is recorded
 * as over stays so, and from a status older than the pods a newer one is derived first, which the server answers with a conflict.
 */
export function releasePods({ record, facts }: Situation): readonly Action[] {
  const attempt = liveAttempt(record);
  const isOver = (pod: ObservedPod): boolean =>
    attempt?.epoch === pod.epoch ? attempt.stage === 'Creating' && willNeverRun(pod) : !isLive(facts, pod);
  const pods = facts.pods.filter((pod) => pod.held && pod.epoch <= record.epoch && isOver(pod));
  if (pods.length === 0) return [];
  const ended = new Set(pods.map(({ epoch }) => epoch).filter((epoch) => epoch !== attempt?.epoch));
  return [
    ...[...ended].flatMap((epoch) => deleteComputeDomain(facts, epoch)),
    { kind: 'releasePods', pods: pods.map(toReference) },
  ];
}

/**
 * With the last pod of its gang: peers keep memory of those that are gone for as long as the domain stands. A gang that never had a pod leaves its domain
 * to the job, which owns it.
 */
function deleteComputeDomain(facts: Facts, epoch: number): readonly Action[] {
  const placement = placementOf(facts, epoch);
  if (placement?.spec.runtime?.computeDomain === undefined) return [];
  if (facts.pods.some((pod) => pod.epoch === epoch && isLive(facts, pod))) return [];
  const name = gangName(facts.job.metadata, { epoch, placement: placement.metadata.name });
  return [{ kind: 'deleteComputeDomain', name }];
}
