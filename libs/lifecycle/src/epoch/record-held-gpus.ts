/** How many GPUs do pods of ended attempts still hold? */
import { type Attempt, gpusOfPod, MAX_HELD_CHANGES } from '@coxswain/api-types';
import { type Facts, isTerminal, recordedSpecOf } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';

/**
 * Records how many GPUs the fenced pods of each ended attempt hold, whenever the number changes: a pod on a lost node cannot be deleted, and its GPUs
 * are free only when the node is back or removed. An ended attempt has no other pod that has not ended.
 */
export function recordHeldGpus(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const held = heldPods(facts);
  const attempts = record.attempts.map((attempt) => {
    const before = attempt.heldByFenced?.at(-1)?.gpus ?? 0;
    if (attempt.stage !== 'Ended' || (before === 0 && !held.has(attempt.epoch))) return attempt;
    const gpus = heldGpus(facts, attempt, held.get(attempt.epoch) ?? []);
    return gpus === undefined || gpus === before ? attempt : withHeld(attempt, { at: now.toISOString(), gpus });
  });
  return attempts.every((attempt, index) => attempt === record.attempts[index]) ? record : { ...record, attempts };
}

/** Indices of bound pods that have not ended, by epoch. */
function heldPods(facts: Facts): ReadonlyMap<number, readonly number[]> {
  const held = new Map<number, number[]>();
  for (const pod of facts.pods) {
    if (pod.nodeName === undefined || isTerminal(pod)) continue;
    const ofEpoch = held.get(pod.epoch);
    if (ofEpoch === undefined) held.set(pod.epoch, [pod.podIndex]);
    else ofEpoch.push(pod.podIndex);
  }
  return held;
}

/** Each rank has a GPU, and a standby as many as a pod with ranks. undefined: the Placement is gone, so the recorded number stays until the pods are. */
function heldGpus(facts: Facts, { epoch }: Attempt, podIndices: readonly number[]): number | undefined {
  if (podIndices.length === 0) return 0;
  const placement = recordedSpecOf(facts, epoch);
  if (placement === undefined) return undefined;
  return podIndices.reduce((sum, podIndex) => sum + gpusOfPod(placement, podIndex), 0);
}

/** Beyond the limit the newest change replaces the one before. */
function withHeld(attempt: Attempt, change: NonNullable<Attempt['heldByFenced']>[number]): Attempt {
  const earlier = (attempt.heldByFenced ?? []).slice(0, MAX_HELD_CHANGES - 1);
  return { ...attempt, heldByFenced: [...earlier, change] };
}
