/** Finds slow pods in the measurements between pods. */
import { formatBytes } from '@coxswain/units';
import type { Suspicion } from './checks.ts';
import type { ObservedPod } from './judgement.ts';
import { rankPods, type MeasuredPair } from './pairs.ts';

/**
 * A pod is slow below this share of the usual rate, in all of its transfers. Without GPUs transfers share processors with
 * everything else: of 50 clean gangs on two processors two had a pod below half, and none had one below a third.
 */
const SLOW_SHARE = { withGpus: 0.5, withoutGpus: 0.25 } as const;
/** This many partners that are known to be good must have measured the pod as slow. */
const LEAST_WITNESSES = 2;
/** A way between two good pods is measured once, so it proves little: it becomes a note below this share of the usual rate. */
const SLOW_WAY_SHARE = 0.2;

/**
 * Finds slow pods. A pod is slow if all of its transfers were slow and at least two of its partners are known to be good from
 * other transfers. If two pods are slow with each other and fast with others, the way between them becomes a note.
 */
export function slowPods(pods: readonly ObservedPod[]): Suspicion {
  const measured = measuredPairs(pods);
  const hasGpus = pods.some(({ report }) => (report.facts.gpus?.length ?? 0) > 0);
  const slowShare = hasGpus ? SLOW_SHARE.withGpus : SLOW_SHARE.withoutGpus;
  const { suspects, good, usual } = rankPods(measured, slowShare);
  const isGood = new Set(good);
  const named = suspects.flatMap((podIndex) => {
    const pod = pods.find((one) => one.podIndex === podIndex);
    const own = measured.filter(({ pair }) => pair.includes(podIndex));
    const witnesses = own.map(({ pair }) => otherOf(pair, podIndex)).filter((other) => isGood.has(other));
    if (pod === undefined || new Set(witnesses).size < LEAST_WITNESSES) return [];
    const best = Math.max(...own.map(({ bytesPerSecond }) => bytesPerSecond));
    const message = `${rate(best)} at best with pods ${[...new Set(witnesses)].join(', ')} where ${rate(usual)} is usual in this gang`;
    return [{ check: 'bandwidth' as const, podIndex, node: pod.node, message }];
  });
  const nameOf = (podIndex: number): string => pods.find((pod) => pod.podIndex === podIndex)?.node ?? `${podIndex}`;
  const slowWays = measured.filter(
    ({ pair, bytesPerSecond }) => bytesPerSecond < SLOW_WAY_SHARE * usual && pair.every((pod) => isGood.has(pod)),
  );
  const notes = slowWays.map(({ pair: [low, high], bytesPerSecond }) => {
    return `${rate(bytesPerSecond)} between ${nameOf(low)} and ${nameOf(high)}, which are faster with others`;
  });
  return { suspects: named, notes };
}

/** Each measured pair once, with the better of its two measurements. */
export function measuredPairs(pods: readonly Pick<ObservedPod, 'podIndex' | 'report'>[]): readonly MeasuredPair[] {
  const best = new Map<string, MeasuredPair>();
  const known = new Set(pods.map(({ podIndex }) => podIndex));
  for (const { podIndex, report } of pods) {
    for (const { peer, bytesPerSecond } of report.pairs) {
      if (peer === podIndex || !known.has(peer)) continue;
      const pair = [Math.min(podIndex, peer), Math.max(podIndex, peer)] as const;
      const before = best.get(pair.join())?.bytesPerSecond ?? 0;
      best.set(pair.join(), { pair, bytesPerSecond: Math.max(before, bytesPerSecond ?? 0) });
    }
  }
  return [...best.values()];
}

function otherOf([low, high]: MeasuredPair['pair'], podIndex: number): number {
  return low === podIndex ? high : low;
}

function rate(bytesPerSecond: number): string {
  return `${formatBytes(bytesPerSecond)}/s`;
}
