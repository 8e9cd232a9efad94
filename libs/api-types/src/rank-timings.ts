import { MAX_WORLD_SIZE } from '@coxswain/layout';
import { z } from 'zod';
import { MAX_RANKS_PER_POD } from './pod-size.ts';

const MAX_DURATION_MS = 1e12;
const MAX_NAME_CHARACTERS = 32;

/** A duration in milliseconds, of at most 32 years. */
export const durationMs = z.number().min(0).max(MAX_DURATION_MS);
/** A global rank, counted from 0. */
export const rank = z
  .int()
  .min(0)
  .max(MAX_WORLD_SIZE - 1);

/** What a rank's step took, in all and by its parts. */
export const RankTiming = z.strictObject({
  rank,
  stepTimeMs: durationMs,
  timingsMs: z.record(z.string().max(MAX_NAME_CHARACTERS), durationMs),
});
export type RankTiming = z.infer<typeof RankTiming>;

/**
 * {@link RankTiming} of every rank of a pod. 2,048 pods with eight ranks send 16,384 of them a second. Checking them by the schema took a fifth of
 * the time of the thread that reads them. So they are checked by hand, and a test compares that with the schema.
 */
export const RankTimings = z.custom<RankTiming[]>(areRankTimings);

function areRankTimings(value: unknown): boolean {
  return Array.isArray(value) && value.length <= MAX_RANKS_PER_POD && value.every(isRankTiming);
}

function isRankTiming(value: unknown): boolean {
  if (!isPlain(value)) return false;
  for (const key in value) if (key !== 'rank' && key !== 'stepTimeMs' && key !== 'timingsMs') return false;
  return isRank(value['rank']) && isDuration(value['stepTimeMs']) && areTimings(value['timingsMs']);
}

function areTimings(value: unknown): boolean {
  if (!isPlain(value)) return false;
  for (const name in value) if (!isName(name) || !isDuration(value[name])) return false;
  return true;
}

/** The schema ignores `__proto__`, so it is not a name. */
function isName(name: string): boolean {
  return name.length <= MAX_NAME_CHARACTERS && name !== '__proto__';
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRank(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < MAX_WORLD_SIZE;
}

function isDuration(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= MAX_DURATION_MS;
}
