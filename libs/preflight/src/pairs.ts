/** Plans which pods measure the bandwidth between them, and in which round. */

/** Indices of two pods, the lower first. */
export type Pair = readonly [number, number];

/** A measured pair, in bytes a second; 0 if nothing arrived. */
export interface MeasuredPair {
  readonly pair: Pair;
  readonly bytesPerSecond: number;
}

/** Rounds before any pod is suspect. Each pod meets this many others, so that one bad partner makes no pod suspect. */
const MOST_ROUNDS = 3;
/** Of each suspect, with pods that are known to be good. */
const CONFIRMING_ROUNDS = 2;
/** A pod whose best transfer is slower than this share of the usual best one meets others once more. */
const SUSPECT_SHARE = 0.5;

/** Rounds of disjoint pairs before any pod is suspect; fewer if the gang is small. */
export function roundCount(podCount: number): number {
  return podCount < 2 ? 0 : Math.min(MOST_ROUNDS, distinctRounds(podCount));
}

/** Rounds after which every pod has met every other once. */
export function distinctRounds(podCount: number): number {
  return podCount % 2 === 0 ? podCount - 1 : podCount;
}

/**
 * Disjoint pairs of a round: all but one pod turn on a circle, so that no pair comes twice within {@link distinctRounds}. With an odd number one
 * pod rests.
 */
export function pairsOfRound(podCount: number, round: number): readonly Pair[] {
  const turning = distinctRounds(podCount);
  const seat = (place: number): number => (((place + round) % turning) + turning) % turning;
  const across = Array.from({ length: Math.floor((turning - 1) / 2) }, (_, index): Pair => {
    return inOrder(seat(index + 1), seat(turning - 1 - index));
  });
  return podCount % 2 === 0 ? [inOrder(seat(0), podCount - 1), ...across] : across;
}

/** The partner of a pod in each of the first rounds; null in a round without a partner. */
export function firstPeersOf(podIndex: number, podCount: number): readonly (number | null)[] {
  return Array.from({ length: roundCount(podCount) }, (_, round) => peerIn(pairsOfRound(podCount, round), podIndex));
}

/** The partner of a pod in each round in which suspects meet good pods; empty if no pod is suspect. */
export function confirmingPeersOf(
  podIndex: number,
  gang: { readonly podCount: number; readonly measured: readonly MeasuredPair[] },
): readonly (number | null)[] {
  return confirmingRounds(gang.podCount, gang.measured).map((pairs) => peerIn(pairs, podIndex));
}

/** Pairs of a suspect with a pod that is known to be good, disjoint in each round, preferably pods that have not met. */
export function confirmingRounds(podCount: number, measured: readonly MeasuredPair[]): readonly (readonly Pair[])[] {
  const { suspects, good } = rankPods(
    measured.filter(({ pair }) => pair.every((pod) => pod < podCount)),
    SUSPECT_SHARE,
  );
  if (suspects.length === 0) return [];
  const met = new Set(measured.map(({ pair }) => pair.join()));
  return Array.from({ length: Math.min(CONFIRMING_ROUNDS, good.length) }, () => {
    const free = new Set(good);
    return suspects.map((suspect) => {
      const partner = [...free].find((one) => !met.has(inOrder(suspect, one).join())) ?? Math.min(...free);
      free.delete(partner);
      const pair = inOrder(suspect, partner);
      met.add(pair.join());
      return pair;
    });
  });
}

/**
 * Divides measured pods into suspects, slower than that share of the usual rate, and good pods. Pods that were never measured
 * are neither. The fastest come first.
 */
export function rankPods(
  measured: readonly MeasuredPair[],
  slowShare: number,
): {
  readonly suspects: readonly number[];
  readonly good: readonly number[];
  /** Best transfer of the pod in the middle. */
  readonly usual: number;
} {
  const best = new Map<number, number>();
  for (const { pair, bytesPerSecond } of measured) {
    for (const pod of pair) best.set(pod, Math.max(best.get(pod) ?? 0, bytesPerSecond));
  }
  const usual = median([...best.values()]);
  const pods = [...best].toSorted(([left, one], [right, other]) => other - one || left - right);
  return {
    suspects: pods.filter(([, bytes]) => bytes < slowShare * usual).map(([pod]) => pod),
    good: pods.filter(([, bytes]) => bytes > 0 && bytes >= slowShare * usual).map(([pod]) => pod),
    usual,
  };
}

/** 0 of nothing; of an even number the greater of the two in the middle. */
export function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

function peerIn(pairs: readonly Pair[], podIndex: number): number | null {
  const pair = pairs.find((one) => one.includes(podIndex));
  return pair === undefined ? null : pair[0] === podIndex ? pair[1] : pair[0];
}

function inOrder(one: number, other: number): Pair {
  return one < other ? [one, other] : [other, one];
}
