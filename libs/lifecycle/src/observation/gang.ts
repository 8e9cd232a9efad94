import { type Attempt, podName } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { type Facts, isTerminal, placementOf, podCount } from './facts.ts';
import type { ObservedPod } from './observed.ts';

/** Results per observation and epoch: a dozen rules ask, and a gang may have thousands of pods. */
type PerObservation<T> = WeakMap<Facts, Map<number, T>>;

const gangs: PerObservation<readonly ObservedPod[]> = new WeakMap();
const members: PerObservation<readonly ObservedPod[]> = new WeakMap();
const missing: PerObservation<readonly number[]> = new WeakMap();
const uncreated: PerObservation<readonly number[]> = new WeakMap();
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

/** The job's observed pods of that attempt, with its standbys and the pods that lost their ranks to them. */
export function allPodsOf(facts: Facts, epoch: number): readonly ObservedPod[] {
  return oncePerObservation(gangs, facts, epoch, () => facts.pods.filter((pod) => pod.epoch === epoch));
}

/**
 * Whether a pod of the attempt holds ranks. The record of the attempt shows it also while its Placement does not exist: standbys are its last pods,
 * and all pods but the last of its gang request as many GPUs as a standby.
 */
function membership(facts: Facts, epoch: number): (podIndex: number) => boolean {
  const attempt = facts.attempts.find((one) => one.epoch === epoch);
  const { standbys = 0, standbyGpus = 0, replacements = [] } = attempt ?? {};
  if (attempt === undefined || standbys === 0 || standbyGpus === 0) return () => true;
  const size = Math.ceil((worldSize(attempt.layout) * standbys) / standbyGpus);
  return (podIndex) => {
    const lost = replacements.some((one) => one.podIndex === podIndex);
    return !lost && (podIndex < size || replacements.some(({ standby }) => standby === podIndex));
  };
}

/** The job's observed pods of that attempt that hold ranks. */
export function podsOf(facts: Facts, epoch: number): readonly ObservedPod[] {
  return oncePerObservation(members, facts, epoch, () => {
    const all = allPodsOf(facts, epoch);
    const isMember = membership(facts, epoch);
    return all.every(({ podIndex }) => isMember(podIndex)) ? all : all.filter(({ podIndex }) => isMember(podIndex));
  });
}

/** The job's observed pods of that attempt that may take the place of another one: they hold no ranks, never held any, and are not recorded as lost. */
export function standbysOf(
  facts: Facts,
  { epoch, standbys, replacements = [], lostStandbys = [] }: Attempt,
): readonly ObservedPod[] {
  if (standbys === undefined) return [];
  const lost = new Set([
    ...replacements.flatMap(({ podIndex, standby }) => [podIndex, standby]),
    ...lostStandbys.map(({ podIndex }) => podIndex),
  ]);
  const isMember = membership(facts, epoch);
  return allPodsOf(facts, epoch)
    .filter(({ podIndex }) => !isMember(podIndex) && !lost.has(podIndex))
    .toSorted((one, other) => one.podIndex - other.podIndex);
}

/** The job's observed pods of that attempt that lost their ranks to standbys. */
export function replacedPods(facts: Facts, { epoch, replacements = [] }: Attempt): readonly ObservedPod[] {
  if (replacements.length === 0) return [];
  const lost = new Set(replacements.map(({ podIndex }) => podIndex));
  return allPodsOf(facts, epoch).filter(({ podIndex }) => lost.has(podIndex));
}

/** Indices of the attempt's pods that are not observed, with its standbys; none if its Placement is unknown. */
export function uncreatedIndices(facts: Facts, attempt: Attempt): readonly number[] {
  return oncePerObservation(uncreated, facts, attempt.epoch, () => {
    const placement = placementOf(facts, attempt.epoch);
    if (placement === undefined) return [];
    const present = new Set(allPodsOf(facts, attempt.epoch).map((pod) => pod.podIndex));
    return Array.from({ length: podCount(placement.spec) }, (_, index) => index).filter((index) => !present.has(index));
  });
}

/** Indices of the attempt's pods with ranks that are not observed; none if its Placement is unknown. */
export function missingIndices(facts: Facts, attempt: Attempt): readonly number[] {
  return oncePerObservation(missing, facts, attempt.epoch, () => {
    const isMember = membership(facts, attempt.epoch);
    return uncreatedIndices(facts, attempt).filter((index) => isMember(index));
  });
}

/** Nodes on which the attempt's pods with ranks run or will run. */
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

/**
 * Names of the attempt's unobserved pods. The caller decides what their absence means. Nothing depends on a standby of a gang that runs.
 */
export function missingPodNames(facts: Facts, attempt: Attempt): readonly string[] {
  const absent = attempt.stage === 'Released' ? missingIndices(facts, attempt) : uncreatedIndices(facts, attempt);
  return absent.map((podIndex) =>
    podName(facts.job.metadata, { epoch: attempt.epoch, podIndex, placement: attempt.placement }),
  );
}
