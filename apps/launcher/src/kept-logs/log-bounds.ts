import type { KeptLogBounds } from '@coxswain/api-types';

const KIB = 1024;
/** A log is kept in at least so many segments, so that the removal of the oldest one leaves most of it. */
const SEGMENTS_OF_RANK = 4;
const MAX_SEGMENT_BYTES = 4 * KIB * KIB;
/** Of a bucket, where a segment is uploaded again and again until it is full. */
const MAX_UPLOADED_SEGMENT_BYTES = KIB * KIB;
/** Below this a log explains nothing. */
const LEAST_RANK_BYTES = 16 * KIB;
/** File systems allocate at least so much for a file, and many small files cost more than their bytes. */
const LEAST_FILE_BYTES = 4 * KIB;

/** How much one writer keeps, and in files of which size. */
export interface WriterBounds {
  readonly bytes: number;
  readonly segmentBytes: number;
}

/**
 * The share of each writer of a job with so many ranks: one attempt may use half of the job's bound, so that the attempt before it stays. The share needs no
 * agreement between the pods, and a job that is within it is within its bound. undefined: nothing is kept.
 */
export function boundsOfWriter(
  { rankBytes, jobBytes }: KeptLogBounds,
  worldSize: number,
  { ranks, isRemote }: { readonly ranks: number; readonly isRemote: boolean },
): WriterBounds | undefined {
  const share = Math.min(rankBytes, Math.floor(jobBytes / 2 / Math.max(1, worldSize)));
  if (share < LEAST_RANK_BYTES) return undefined;
  const bytes = share * ranks;
  const most = isRemote ? MAX_UPLOADED_SEGMENT_BYTES : MAX_SEGMENT_BYTES;
  return { bytes, segmentBytes: Math.min(most, Math.floor(bytes / SEGMENTS_OF_RANK)) };
}

/** Attempts of other jobs that were written to so recently can run. A launcher touches what it writes more often. */
const LIVE_MS = 3_600_000;

/** What is kept of an attempt. */
export interface KeptAttempt {
  readonly job: string;
  readonly epoch: number;
  readonly bytes: number;
  readonly newestMs: number;
}

/** What files of an attempt amount to. `writtenMs`: absent if the storage does not report it. */
export function keptAttempt(
  { job, epoch }: Pick<KeptAttempt, 'job' | 'epoch'>,
  files: readonly { readonly startMs: number; readonly bytes: number; readonly writtenMs?: number }[],
): KeptAttempt {
  return {
    job,
    epoch,
    bytes: files.reduce((sum, { bytes }) => sum + Math.max(bytes, LEAST_FILE_BYTES), 0),
    newestMs: files.reduce((newest, { startMs, writtenMs = 0 }) => Math.max(newest, startMs, writtenMs), 0),
  };
}

/**
 * Attempts to remove when one begins: of the job's earlier ones the oldest, until they fit beside what this attempt may write; then of the namespace's jobs
 * those that were written to longest ago. This attempt and later ones stay, and so do attempts of other jobs that can run.
 */
export function attemptsToRemove(
  attempts: readonly KeptAttempt[],
  own: { readonly job: string; readonly epoch: number; readonly worldSize: number },
  { bounds, nowMs }: { readonly bounds: KeptLogBounds; readonly nowMs: number },
): readonly KeptAttempt[] {
  const others = attempts.filter(({ job, epoch }) => job !== own.job || epoch < own.epoch);
  const reserved = Math.min(bounds.rankBytes * own.worldSize, bounds.jobBytes / 2);
  const earlier = others.filter(({ job }) => job === own.job).sort((one, other) => one.epoch - other.epoch);
  const ofJob = oldestBeyond(earlier, sumOf(earlier) - (bounds.jobBytes - reserved));
  const left = others.filter((one) => !ofJob.includes(one)).sort((one, other) => one.newestMs - other.newestMs);
  const ended = left.filter(({ job, newestMs }) => job === own.job || newestMs < nowMs - LIVE_MS);
  const ofProject = oldestBeyond(ended, sumOf(left) - (bounds.projectBytes - reserved));
  return [...ofJob, ...ofProject];
}

/** The first of `attempts` that have at least so many bytes together. */
function oldestBeyond(attempts: readonly KeptAttempt[], bytes: number): readonly KeptAttempt[] {
  let left = bytes;
  let count = 0;
  for (const one of attempts) {
    if (left <= 0) break;
    left -= one.bytes;
    count += 1;
  }
  return attempts.slice(0, count);
}

function sumOf(attempts: readonly KeptAttempt[]): number {
  return attempts.reduce((total, { bytes }) => total + bytes, 0);
}
