import { setTimeout as delay } from 'node:timers/promises';

const RETRY_MS = 1_000;

/** False when the signal comes before the time is over. */
export async function pause(ms: number, stopping: AbortSignal): Promise<boolean> {
  try {
    await delay(ms, undefined, { signal: stopping, ref: false });
    return true;
  } catch {
    return false;
  }
}

/** Calls `attempt` until it gives something, once a second; undefined when the signal comes first. */
export async function retry<T>(attempt: () => Promise<T | undefined>, stopping: AbortSignal): Promise<T | undefined> {
  while (!stopping.aborted) {
    const result = await attempt();
    if (result !== undefined) {
      return result;
    }
    if (!(await pause(RETRY_MS, stopping))) {
      return undefined;
    }
  }
  return undefined;
}
