/** Did a rank end with 0 before the ranks that lost their connection to it? */
import { type Attempt, MAX_RANKS_PER_POD, parseRanks, type PlacementSpec, ranksOfPod } from '@coxswain/api-types';
import { capitalize, describeRanks } from '@coxswain/health';
import { type Facts, placementOf } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { isOfFence, launcherOf } from '../observation/incarnation.ts';
import type { ObservedPod } from '../observation/observed.ts';

interface Described {
  readonly message: string;
  readonly rank?: number;
  /** The pod of that rank, or the one that failed. */
  readonly podIndex: number;
}

interface FinishedRank {
  readonly rank: number;
  readonly podIndex: number;
}

/** The failure of a rank that lost its peer, with the rank that finished before; unchanged if none is known. */
export function withFinishedPeer(facts: Facts, attempt: Attempt, failed: Described): Described {
  const finished = finishedRanks(facts, attempt);
  const [first] = finished;
  if (first === undefined) return failed;
  const who = capitalize(describeRanks(finished.map(({ rank }) => rank)));
  const it = finished.length === 1 ? 'it' : 'them';
  const message = `${who} finished with exit code 0 before the other ranks, which then lost their connections to ${it}. ${failed.message}`;
  return { message, ...first };
}

/** Ranks of the current run that exited with 0, as launchers and pods show. */
function finishedRanks(facts: Facts, attempt: Attempt): readonly FinishedRank[] {
  const placement = placementOf(facts, attempt.epoch)?.spec;
  const found = podsOf(facts, attempt.epoch).flatMap((pod) =>
    ranksFinishedIn(pod, { facts, attempt, placement }).map((rank) => [rank, pod.podIndex] as const),
  );
  const ranks = [...new Map(found)].map(([rank, podIndex]) => ({ rank, podIndex }));
  return ranks.toSorted((left, right) => left.rank - right.rank);
}

function ranksFinishedIn(
  pod: ObservedPod,
  about: { readonly facts: Facts; readonly attempt: Attempt; readonly placement: PlacementSpec | undefined },
): readonly number[] {
  const { facts, attempt, placement } = about;
  if (pod.phase === 'Succeeded') return placement === undefined ? [] : ranksOfPod(placement, pod.podIndex);
  const causes = [pod.exit?.cause, launcherOf(facts, pod, attempt)?.cause].filter((one) => isOfFence(one, attempt));
  return causes.flatMap((cause) => parseRanks(cause?.finishedRanks ?? '', MAX_RANKS_PER_POD));
}
