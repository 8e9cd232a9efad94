/** How long does the operator wait before it restarts a job with a failure policy, or after a failure of the environment? */
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '@coxswain/units';

/** By failures in a row since the last checkpoint. The first two restarts are immediate, because most failures do not recur; then each delay is four times the last. */
const PAUSES_MS = [0, 0, 30 * SECOND_MS, 2 * MINUTE_MS, 8 * MINUTE_MS, 15 * MINUTE_MS] as const;
const LONGEST_MS = HOUR_MS / 4;
/** Jobs that one storage or one switch failed together restart apart. */
const JITTER_SHARE = 0.2;

/** The delay after so many failures in a row, this one included. It is the same for the same `seed`, and up to 20 % shorter or longer for others. */
export function restartDelayMs(failuresInARow: number, seed: string): number {
  const pauseMs = PAUSES_MS[Math.min(Math.max(failuresInARow, 1), PAUSES_MS.length) - 1] ?? LONGEST_MS;
  return Math.min(LONGEST_MS, Math.round(pauseMs * (1 - JITTER_SHARE + 2 * JITTER_SHARE * shareOf(seed))));
}

/**
 * The delay after a failure that the program did not cause, which is the given one in a row since the last checkpoint: `delaySeconds`, at least
 * a second, doubled each time up to `longestMs`. Ten of them wait for more than a quarter of an hour altogether, whatever `delaySeconds` is.
 */
export function environmentDelayMs(failuresInARow: number, delaySeconds: number, longestMs: number): number {
  const doublings = Math.min(Math.max(failuresInARow, 1) - 1, 20);
  return Math.min(longestMs, Math.max(SECOND_MS, delaySeconds * SECOND_MS) * 2 ** doublings);
}

/**
 * A number between 0 and 1: 32-bit FNV-1a (Fowler, Noll, Vo) with the last step of MurmurHash3 (Appleby), so that texts which differ only
 * at their end give very different numbers.
 */
function shareOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 0x1_0000_0000;
}
