import { deletePods } from './actions-of.ts';
import type { Action } from './decision.ts';
import { isLive } from '../observation/facts.ts';
import { toReference } from './pod-reference.ts';
import { readLive } from './proof.ts';
import type { Situation } from './situation.ts';

/**
 * What may be done for a job although the API server refuses every form of its status. That somebody deleted it is recorded in its metadata, and
 * is intent enough: its pods go, and once a live read shows that none of them computes any more, so does our finalizer.
 */
export function lettingGo(situation: Situation): readonly Action[] {
  const { facts } = situation;
  if (!facts.deleting || !facts.hasFinalizer) return [];
  if (!facts.isProven) return [readLive(situation, situation.record)];
  const live = facts.pods.filter((pod) => isLive(facts, pod));
  if (live.length > 0) return deletePods(live, facts.gracePeriodSeconds);
  const held = facts.pods.filter((pod) => pod.held).map(toReference);
  return [...(held.length === 0 ? [] : [{ kind: 'releasePods' as const, pods: held }]), { kind: 'removeFinalizer' }];
}
