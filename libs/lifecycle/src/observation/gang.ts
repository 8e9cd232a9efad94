import { type Attempt, podName } from '@coxswain/api-types';
import { type Facts, isTerminal, placementOf, podCount } from './facts.ts';
import type { ObservedPod } from './observed.ts';

/** Results per observation and epoch: a dozen rules ask, and a gang may have thousands of pods. */
type PerObservation<T> = WeakMap<Facts, Map<number, T>>;

const gangs: PerObservation<readonly ObservedPod[]> = new WeakMap();
const missing: PerObservation<readonly number[]> = new WeakMap();
const nodes: PerObservation<readonly string[]> = new WeakMap();

function oncePerObservation<T>(found: PerObservation<T>, facts: Facts, epoch: number, findOut: () => T): T {
  const byEpoch = found.get(facts) ?? new Map<number, T>();
  found.set(facts, byEpoch);
  const known = byEpoch.get(epoch);
  if (known !== undefined) return known;
  const value = findOut();
  byEpoch.set(epoch, value);
  return value;
}

/** The job's observed pods of that attempt. */
export function podsOf(facts: Facts, epoch: number): readonly ObservedPod[] {
  return oncePerObservation(gangs, facts, epoch, () => facts.pods.filter((pod) => pod.epoch === epoch));
}

/** Indices of the attempt's pods that are not observed; none if its Placement is unknown. */
export function missingIndices(facts: Facts, attempt: Attempt): readonly number[] {
  return oncePerObservation(missing, facts, attempt.epoch, () => {
    const placement = placementOf(facts, attempt.epoch);
    if (placement === undefined) return [];
    const present = new Set(podsOf(facts, attempt.epoch).map((pod) => pod.podIndex));
    return Array.from({ length: podCount(placement.spec) }, (_, index) => index).filter((index) => !present.has(index));
  });
}

/** Nodes on which the attempt's pods run or will run. */
export function nodesOf(facts: Facts, attempt: Attempt): readonly string[] {
  return oncePerObservation(nodes, facts, attempt.epoch, () => {
    const placed = placementOf(facts, attempt.epoch)?.spec.nodes ?? [];
    const pods = podsOf(facts, attempt.epoch).filter((pod) => !isTerminal(pod));
    const used = [
      ...pods.map((pod) => pod.nodeName ?? placed[pod.podIndex]),
      ...missingIndices(facts, attempt).map((podIndex) => placed[podIndex]),
    ];
    return [...new Set(used.filter((node) => node !== undefined))].toSorted();
  });
}

/** Names of the attempt's unobserved pods. The caller decides what their absence means. */
export function missingPodNames(facts: Facts, attempt: Attempt): readonly string[] {
  return missingIndices(facts, attempt).map((podIndex) =>
    podName(facts.job.metadata, { epoch: attempt.epoch, podIndex, placement: attempt.placement }),
  );
}
