import { setTimeout as delay } from 'node:timers/promises';

/** How long, how often, and in which words to wait. */
export interface WaitOptions {
  /** Default 120 s. A wait ends as soon as the condition holds, so a long deadline costs nothing unless something is broken. */
  readonly deadlineMs?: number;
  /** Time between two checks; default 50 ms. */
  readonly intervalMs?: number;
  /** What is waited for, as it completes the sentence "waited 5 s for ...". */
  readonly what: string;
}

/** Enough for a machine several times slower than a developer's. */
const DEFAULT_DEADLINE_MS = 120_000;

/**
 * Checks `condition` until it returns something other than `undefined`, `null` or `false`, and returns that.
 * A condition that throws counts as not yet true; the error at the deadline names the last failure.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitOptions,
): Promise<Exclude<T, undefined | null | false>> {
  const { deadlineMs = DEFAULT_DEADLINE_MS, intervalMs = 50, what } = options;
  const started = performance.now();
  let lastError: unknown;
  for (;;) {
    try {
      const seen = await condition();
      if (seen !== undefined && seen !== null && seen !== false) {
        return seen as Exclude<T, undefined | null | false>;
      }
      lastError = undefined;
    } catch (error) {
      if (error instanceof GiveUp) {
        throw error;
      }
      lastError = error;
    }
    if (performance.now() - started >= deadlineMs) {
      const because = lastError === undefined ? '' : `; the last check failed: ${describe(lastError)}`;
      throw new Error(`waited ${deadlineMs / 1000} s for ${what}, in vain${because}`, { cause: lastError });
    }
    await delay(intervalMs);
  }
}

/** Thrown by a condition of {@link waitFor} that can never become true any more: ends the wait at once. */
export class GiveUp extends Error {
  override readonly name = 'GiveUp';
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
