/** When is a message tried again, and when is it, or its endpoint, given up? */
import { HOUR_MS } from '@coxswain/units';

/** What came of an attempt; no status: nobody answered, and `trouble` says why. `retryAfterMs`: how long the endpoint asks to be left alone. */
export type Answer = { readonly status: number; readonly retryAfterMs?: number } | { readonly trouble: string };

/** An endpoint as it was before the attempt. */
export interface EndpointRun {
  /** Attempts in a row that failed. */
  readonly failures: number;
  readonly failingSince: Date | null;
}

/** What becomes of the message and of its endpoint. */
export interface AfterAttempt {
  readonly message: { readonly state: 'delivered' | 'failed' } | { readonly state: 'waiting'; readonly waitMs: number };
  readonly endpoint: EndpointRun & { readonly disabledReason: string | null };
}

/** Of one message: with the waits between them some 23 hours. */
export const MOST_ATTEMPTS = 12;
const FIRST_WAIT_MS = 5_000;
const FACTOR = 3;
const LONGEST_WAIT_MS = 6 * HOUR_MS;
/** Of each wait, up or down, so that messages which failed together do not come back together. */
const JITTER = 0.2;

/** An endpoint is disabled when so many attempts in a row failed and none came through for so long: a restart of a receiver is neither. */
export const DISABLED_AFTER_FAILURES = 10;
/** Shortest time without a delivered message after which an endpoint is disabled. */
export const DISABLED_AFTER_MS = 12 * HOUR_MS;

const GONE = 410;

/** `attempts` with the one that has just ended; `random` in [0, 1). */
export function afterAttempt(
  {
    attempts,
    answer,
    endpoint,
  }: { readonly attempts: number; readonly answer: Answer; readonly endpoint: EndpointRun },
  { now, random }: { readonly now: Date; readonly random: number },
): AfterAttempt {
  if (hasArrived(answer))
    return { message: { state: 'delivered' }, endpoint: { failures: 0, failingSince: null, disabledReason: null } };
  const run = { failures: endpoint.failures + 1, failingSince: endpoint.failingSince ?? now };
  return {
    message:
      attempts >= MOST_ATTEMPTS ? { state: 'failed' } : { state: 'waiting', waitMs: waitMs(attempts, random, answer) },
    endpoint: { ...run, disabledReason: reasonToDisable(run, answer, now) },
  };
}

/** Whole milliseconds until the next attempt after so many: not before an endpoint that is too busy asks for it, nor so late that its messages are given up. */
export function waitMs(attempts: number, random: number, answer?: Answer): number {
  const plain = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * FACTOR ** (attempts - 1));
  const waited = plain * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(waited, Math.min(LONGEST_WAIT_MS, askedMs(answer)) * (1 + JITTER * random)));
}

const TOO_MANY_REQUESTS = 429;
const UNAVAILABLE = 503;

function askedMs(answer: Answer | undefined): number {
  if (answer === undefined || !('status' in answer)) return 0;
  return answer.status === TOO_MANY_REQUESTS || answer.status === UNAVAILABLE ? (answer.retryAfterMs ?? 0) : 0;
}

/** Whether an endpoint has taken the message. */
export function hasArrived(answer: Answer): boolean {
  return 'status' in answer && answer.status >= 200 && answer.status < 300;
}

function reasonToDisable(run: { failures: number; failingSince: Date }, answer: Answer, now: Date): string | null {
  if ('status' in answer && answer.status === GONE) return 'It answered 410: it is gone and wants no more messages.';
  const forMs = now.getTime() - run.failingSince.getTime();
  if (run.failures < DISABLED_AFTER_FAILURES || forMs < DISABLED_AFTER_MS) return null;
  return `Every attempt failed for ${Math.floor(forMs / HOUR_MS)} hours, ${run.failures} in a row; the last one: ${answerWords(answer)}.`;
}

/** `answered 503`, or why nobody did. */
export function answerWords(answer: Answer): string {
  return 'status' in answer ? `answered ${answer.status}` : answer.trouble;
}
