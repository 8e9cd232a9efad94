import type { ClientLimits } from './kube-client.ts';
import type { Clock } from './clock.ts';
import { sleep } from './clock.ts';
import { KubeApiError } from './errors.ts';
import { TokenBucket } from './token-bucket.ts';

/** Calls under way at once unless a client says otherwise. */
export const DEFAULT_IN_FLIGHT = 16;

/** Where a call waits for its turn. */
export interface Gate {
  /** Resolves when it is the caller's turn, with how to leave. */
  enter(signal: AbortSignal | undefined): Promise<() => void>;
}

/** First come, first served: at most `maxInFlight` at once, no faster than `rate`. */
export function makeGate(limits: ClientLimits, clock: Clock): Gate {
  const bucket =
    limits.rate === undefined
      ? undefined
      : new TokenBucket({ ratePerSecond: limits.rate.perSecond, burst: limits.rate.burst, clock });
  const waiting = new Set<() => void>();
  let free = limits.maxInFlight ?? DEFAULT_IN_FLIGHT;
  const leave = (): void => {
    free += 1;
    const next = waiting.values().next().value;
    if (next === undefined) return;
    waiting.delete(next);
    free -= 1;
    next();
  };
  const slot = (signal: AbortSignal | undefined): Promise<void> => {
    if (free > 0) {
      free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        waiting.delete(turn);
        reject(givenUp());
      };
      const turn = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      waiting.add(turn);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  };
  return {
    enter: async (signal) => {
      if (signal?.aborted) throw givenUp();
      const waitMs = bucket?.take() ?? 0;
      if (waitMs > 0) await sleep(clock, waitMs, signal);
      if (signal?.aborted) throw givenUp();
      await slot(signal);
      return leave;
    },
  };
}

function givenUp(): KubeApiError {
  return new KubeApiError({ status: 0, reason: 'Aborted', message: 'the caller gave up before the request was sent' });
}
