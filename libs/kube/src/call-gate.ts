import { TokenBucket } from '@coxswain/units';
import type { BoundedLane, CallOptions, ClientLimits } from './kube-client.ts';
import type { Clock } from './clock.ts';
import { sleep } from './clock.ts';
import { KubeApiError } from './errors.ts';

/** Default number of calls under way at once in a lane. */
const DEFAULT_IN_FLIGHT = 16;

/** How many calls each lane of a client carries at once. */
export function lanesOf({
  maxInFlight = DEFAULT_IN_FLIGHT,
  lanes,
}: ClientLimits): Readonly<Record<BoundedLane, number>> {
  return { control: maxInFlight, bulk: maxInFlight, identity: maxInFlight, ...lanes };
}

/** Where calls wait for their turn. */
export interface Gate {
  /** Resolves when the call may start, with a function that frees its place. */
  enter(call: Pick<CallOptions, 'signal' | 'lane' | 'turnOf'>): Promise<() => void>;
}

/** Limits the calls of each lane and shares the lane fairly among the values of `turnOf`. All lanes together stay within `rate`. Calls of the lane `lease` never wait. */
export function makeGate(limits: ClientLimits, clock: Clock): Gate {
  const bucket = limits.rate === undefined ? undefined : new TokenBucket(limits.rate, clock.monotonicMs());
  const { control, bulk, identity } = lanesOf(limits);
  const lanes = { control: new LaneGate(control), bulk: new LaneGate(bulk), identity: new LaneGate(identity) };
  return {
    enter: async ({ signal, lane = 'control', turnOf = '' }) => {
      if (lane === 'lease') return nothing;
      if (signal?.aborted) throw givenUp();
      const waitMs = bucket?.borrow(clock.monotonicMs()) ?? 0;
      if (waitMs > 0) await sleep(clock, waitMs, signal);
      if (signal?.aborted) throw givenUp();
      return lanes[lane].enter(turnOf, signal);
    },
  };
}

/** The places of one lane. Waiting calls are served round-robin over `turnOf`. */
class LaneGate {
  #free: number;
  /** Waiting calls by `turnOf`; the first key is next. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(places: number) {
    this.#free = places;
  }

  async enter(turnOf: string, signal: AbortSignal | undefined): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(turnOf, signal);
    return () => this.#leave();
  }

  #wait(turnOf: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#forget(turnOf, turn);
        reject(givenUp());
      };
      const turn = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const others = this.#waiting.get(turnOf);
      if (others === undefined) this.#waiting.set(turnOf, new Set([turn]));
      else others.add(turn);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  #leave(): void {
    const [turnOf, turns] = this.#waiting.entries().next().value ?? [];
    const turn = turns?.values().next().value;
    if (turnOf === undefined || turns === undefined || turn === undefined) {
      this.#free += 1;
      return;
    }
    this.#forget(turnOf, turn);
    // Behind the others.
    this.#waiting.delete(turnOf);
    if (turns.size > 0) this.#waiting.set(turnOf, turns);
    turn();
  }

  #forget(turnOf: string, turn: () => void): void {
    const turns = this.#waiting.get(turnOf);
    turns?.delete(turn);
    if (turns?.size === 0) this.#waiting.delete(turnOf);
  }
}

const nothing = (): void => undefined;

function givenUp(): KubeApiError {
  return new KubeApiError({ status: 0, reason: 'Aborted', message: 'the caller gave up before the request was sent' });
}
