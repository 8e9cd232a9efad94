/** How much of spec.maxRuntimeSeconds has this run of the job used, and what is due because of it? */
import { countedTime, heldByRunMs, heldMs } from '@coxswain/scheduling';
import { formatDuration, MINUTE_MS, SECOND_MS } from '@coxswain/units';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

/** The end is announced when this share of the limit is left, and at most this time before. */
const ANNOUNCED = { share: 0.1, longestMs: 15 * MINUTE_MS } as const;

/** The save is asked for when this share of the announced time is left, or earlier if saves stall training for longer. */
const SAVE = { share: 1 / 3, stalls: 2 } as const;

/** What is left of a run with a limit. */
export interface RuntimeLeft {
  readonly limitMs: number;
  /** Time for which this run has held GPUs. Negative times of clocks that differ count as 0. */
  readonly usedMs: number;
  readonly leftMs: number;
  /** The end is announced when so much is left. */
  readonly announceAtMs: number;
  /** A save is asked for when so much is left. */
  readonly saveAtMs: number;
}

/** undefined: the job has no limit. */
export function runtimeLeft(record: JobRecord, { spec }: Pick<Facts, 'spec'>, now: Date): RuntimeLeft | undefined {
  if (spec?.maxRuntimeSeconds === undefined) return undefined;
  const limitMs = spec.maxRuntimeSeconds * SECOND_MS;
  const usedMs = heldByRunMs(record, now);
  const announceAtMs = Math.min(limitMs * ANNOUNCED.share, ANNOUNCED.longestMs);
  const saveAtMs = Math.min(announceAtMs, Math.max(announceAtMs * SAVE.share, stallMsOf(record) * SAVE.stalls));
  return { limitMs, usedMs, leftMs: limitMs - usedMs, announceAtMs, saveAtMs };
}

/** How long the newest measured save stalled training; 0: none was measured. */
function stallMsOf({ attempts }: JobRecord): number {
  const pace = attempts.flatMap((one) => one.pace ?? []).findLast(({ saves }) => saves > 0);
  return pace === undefined ? 0 : pace.betweenStepsMs / pace.saves;
}

/** Records the time of ended attempts, of which status keeps only the newest, and that the end was announced. */
export function recordRuntime(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const left = runtimeLeft(record, facts, now);
  // A limit that is taken away and set again counts on, so a recorded time stays.
  if (left === undefined && record.runtime === undefined) return record;
  const attempt = liveAttempt(record);
  // Between two attempts no attempt records the suspension.
  if (attempt === undefined && facts.suspend)
    return withRuntime(record, { heldSeconds: 0, throughEpoch: record.epoch });
  const { heldSeconds, throughEpoch, announcedAt } = countedTime(record);
  const ended = record.attempts.filter(({ epoch, stage }) => stage === 'Ended' && epoch > throughEpoch);
  const isNear = left !== undefined && left.leftMs <= left.announceAtMs;
  const announced = isNear ? (announcedAt ?? (attempt === undefined ? undefined : now.toISOString())) : undefined;
  const endedMs = ended.reduce((sum, one) => sum + heldMs(one, now), 0);
  const counted = {
    heldSeconds: heldSeconds + Math.round(endedMs / SECOND_MS),
    throughEpoch: ended.at(-1)?.epoch ?? throughEpoch,
  };
  return withRuntime(record, announced === undefined ? counted : { ...counted, announcedAt: announced });
}

function withRuntime(record: JobRecord, runtime: JobRecord['runtime']): JobRecord {
  const isNothing = runtime !== undefined && runtime.throughEpoch === 0 && runtime.announcedAt === undefined;
  const next = isNothing ? undefined : runtime;
  const { heldSeconds, throughEpoch, announcedAt } = record.runtime ?? {};
  const isSame =
    heldSeconds === next?.heldSeconds && throughEpoch === next?.throughEpoch && announcedAt === next?.announcedAt;
  return isSame ? record : { ...record, runtime: next };
}

/** Milliseconds until the end is announced, a save is due, and the attempt is stopped; those that are over are negative. */
export function maxRuntimeDueMs(record: JobRecord, facts: Facts, now: Date): readonly number[] {
  const attempt = liveAttempt(record);
  const left = runtimeLeft(record, facts, now);
  if (left === undefined || attempt === undefined || attempt.stage === 'Stopping') return [];
  const { leftMs, announceAtMs, saveAtMs } = left;
  return [leftMs - announceAtMs, leftMs - saveAtMs, leftMs];
}

/** What the run used beyond the limit is named from here on: the limit was lowered, or nothing could end the run in time. */
const BEYOND_MS = MINUTE_MS;

/** `The run has held GPUs for 24 h 0 min, the limit of spec.maxRuntimeSeconds.` */
export function describeReached({ limitMs, usedMs }: Pick<RuntimeLeft, 'limitMs' | 'usedMs'>): string {
  if (usedMs - limitMs >= BEYOND_MS)
    return `The run has held GPUs for ${formatDuration(usedMs)}, longer than the ${formatDuration(limitMs)} of spec.maxRuntimeSeconds.`;
  return `The run has held GPUs for ${formatDuration(limitMs)}, the limit of spec.maxRuntimeSeconds.`;
}

/** Of condition MaxRuntimeNear and its event. */
export function describeNear({ limitMs }: Pick<RuntimeLeft, 'limitMs'>): string {
  return `The run has nearly held GPUs for the ${formatDuration(limitMs)} of spec.maxRuntimeSeconds. It saves and ends with reason MaxRuntimeReached unless the limit is raised.`;
}
