/** Where does a gang stand that runs and does not train? */
import { type Attempt, ranksOfPod } from '@coxswain/api-types';
import { describeFinishedRanks, type Standing } from '@coxswain/health';
import { type Facts, isTerminal, placementOf } from './facts.ts';
import { podsOf } from './gang.ts';
import { isOfFence } from './incarnation.ts';
import { isOver, type Wait } from './waits.ts';

/** Pods of a gang that ends show it within seconds of each other. */
const FINISHED_MS = 5_000;

/** What launchers report of the current run, or what its pods show; undefined: it trains, as far as is known. */
export function standingOf(facts: Facts, attempt: Attempt): Standing | undefined {
  const { standing } = facts.observed;
  if (standing !== undefined && isOfFence(standing, attempt)) return standing;
  const wait = finishedWait(facts, attempt);
  if (wait === undefined || !isOver(facts, wait)) return undefined;
  const ranks = finishedRanks(facts, attempt);
  const worldSize = placementOf(facts, attempt.epoch)?.spec.worldSize ?? ranks.length;
  return { reason: 'RanksFinished', message: describeFinishedRanks(ranks, worldSize), isStarting: false };
}

/** The wait for the other pods of a gang after the first that finished; undefined: none has, or all have. */
export function finishedWait(facts: Facts, attempt: Attempt): Wait | undefined {
  const pods = podsOf(facts, attempt.epoch);
  const isOpen = pods.some((pod) => pod.running && !isTerminal(pod));
  if (attempt.stage !== 'Released' || !isOpen || finishedRanks(facts, attempt).length === 0) return undefined;
  return { key: `e${attempt.epoch}i${attempt.incarnation ?? 1}/finished`, limitMs: FINISHED_MS };
}

function finishedRanks(facts: Facts, attempt: Attempt): readonly number[] {
  const placement = placementOf(facts, attempt.epoch)?.spec;
  if (placement === undefined) return [];
  const finished = podsOf(facts, attempt.epoch).filter(({ phase }) => phase === 'Succeeded');
  return finished.flatMap(({ podIndex }) => ranksOfPod(placement, podIndex));
}
