/** How long is the pause before a restart under a failure policy? */
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '@coxswain/units';

/**
 * Pauses by failures in a row since the last save. Two immediate retries, because most failures pass with the next; then each pause is four
 * times as long.
 */
const PAUSES_MS = [0, 0, 30 * SECOND_MS, 2 * MINUTE_MS, 8 * MINUTE_MS, 15 * MINUTE_MS] as const;
const LONGEST_MS = HOUR_MS / 4;
/** Spreads restarts of jobs that one storage or switch has failed together. */
const JITTER_SHARE = 0.2;

/**
 * The pause after that many failures in a row, including this one. Equal for an equal `seed`, and up to 20 % shorter or longer between
 * seeds.
 */
export function backoffMs(failuresInARow: number, seed: string): number {
  const pauseMs = PAUSES_MS[Math.min(Math.max(failuresInARow, 1), PAUSES_MS.length) - 1] ?? LONGEST_MS;
  return Math.min(LONGEST_MS, Math.round(pauseMs * (1 - JITTER_SHARE + 2 * JITTER_SHARE * shareOf(seed))));
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
