/** A source of time, passed in so that tests control it. */
export interface Clock {
  /** Wall time, for timestamps that people read. Deadlines never use it. */
  now(): Date;
  /** Milliseconds on a clock that never steps and keeps running while the process is stopped. Its zero has no meaning. */
  monotonicMs(): number;
  /** Calls `fire` once after `delayMs`; the returned function cancels. */
  setTimer(delayMs: number, fire: () => void): () => void;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  setTimer: (delayMs, fire) => {
    const timer = setTimeout(fire, Math.min(Math.max(0, delayMs), MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`, or at once when `signal` aborts. Never rejects; callers check the signal. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = (): void => {
      cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.setTimer(delayMs, finish);
    signal?.addEventListener('abort', finish, { once: true });
  });
}

/** Node fires a timer at once when its delay does not fit 32 bits. */
const MAX_TIMER_MS = 2 ** 31 - 1;
