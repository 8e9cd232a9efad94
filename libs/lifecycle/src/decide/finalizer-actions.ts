import { deletePods } from './actions-of.ts';
import type { Action } from './decision.ts';
import { isLive } from '../observation/facts.ts';
import { toReference } from './pod-reference.ts';
import { readLive } from './proof.ts';
import type { Situation } from './situation.ts';

/**
 * Actions for a deleted job whose status the API server refuses in every form. Its deletion is recorded in its metadata, so its pods are
 * deleted. Once a live read shows that no pod computes any more, the job's finalizer is removed.
 */
export function finalizerActions(situation: Situation): readonly Action[] {
  const { facts } = situation;
  if (!facts.deleting || !facts.hasFinalizer) return [];
  if (!facts.isProven) return [readLive(situation, situation.record)];
  const live = facts.pods.filter((pod) => isLive(facts, pod));
  if (live.length > 0) return deletePods(live, facts.gracePeriodSeconds);
  const held = facts.pods.filter((pod) => pod.held).map(toReference);
  return [...(held.length === 0 ? [] : [{ kind: 'releasePods' as const, pods: held }]), { kind: 'removeFinalizer' }];
}
