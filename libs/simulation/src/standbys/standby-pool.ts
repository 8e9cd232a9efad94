/** How many faults does a pool of standbys answer, if nodes come back at random times? */
import { exponential, logNormal } from '../kernel/distributions.ts';
import { EventQueue } from '../kernel/event-queue.ts';
import { RandomStream } from '../kernel/random-stream.ts';
import type { StandbyDemand } from './erlang-b.ts';

/** Spread of refill times: of their logarithm. 0: each takes the same time. */
export interface PoolQuestion extends StandbyDemand {
  readonly standbys: number;
  readonly refillSigma: number;
  /**
   * When a node that is back becomes a standby. AtOnce: as Erlang B assumes. NextAttempt: with the next attempt, which begins when a fault finds no
   * standby. The operator does the second.
   */
  readonly refills: 'AtOnce' | 'NextAttempt';
  readonly faults: number;
  readonly seed: number;
}

/** Share of the faults that found a standby. */
export function answeredShare(question: PoolQuestion): number {
  const { nodes, faultsPerNodeDay, refillHours, refillSigma, standbys, refills, faults, seed } = question;
  const faultStream = new RandomStream(seed, 'faults');
  const refillStream = new RandomStream(seed, 'refills');
  const hoursBetween = 24 / (nodes * faultsPerNodeDay);
  // The mean of a log-normal time is its median times exp(sigma^2 / 2).
  const refill = { median: refillHours / Math.exp(refillSigma ** 2 / 2), sigma: refillSigma };
  const returns = new EventQueue<'back'>();
  let [hour, free, back, answered] = [0, standbys, 0, 0];
  for (let fault = 0; fault < faults; fault += 1) {
    hour += exponential(faultStream, hoursBetween);
    while ((returns.nextAtMs ?? Infinity) <= hour) {
      returns.pop();
      back += 1;
    }
    const isOut = free === 0;
    if (refills === 'AtOnce' || isOut) {
      free += back;
      back = 0;
    }
    // A new attempt answers the fault itself, with all standbys that are there by then.
    if (free === 0 || (isOut && refills === 'NextAttempt')) continue;
    free -= 1;
    answered += 1;
    returns.push(hour + logNormal(refillStream, refill), 'back');
  }
  return answered / faults;
}
