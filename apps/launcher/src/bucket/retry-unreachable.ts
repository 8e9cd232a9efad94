import { setTimeout as delay } from 'node:timers/promises';
import { StoreError } from '@coxswain/checkpoint-store';
import { pauseAfter } from './bucket-saves.ts';

/** A store that restarts is back within a minute. */
const MOST_TRIES = 6;

/** Repeats work of a pod on a bucket while the store does not answer. Any other error, and that of the last try, rejects. */
export async function retryUnreachable<Result>(
  work: () => Promise<Result>,
  pause: (ms: number) => Promise<unknown> = delay,
): Promise<Result> {
  for (let tried = 1; ; tried++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== 'Unreachable' || tried === MOST_TRIES) throw error;
      await pause(pauseAfter(tried));
    }
  }
}
