import type { KeptLogBounds } from '@coxswain/api-types';
import { parseSegmentPath } from './log-segments.ts';

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

/** A file below the folder of a namespace's logs. */
interface KeptFile {
  /** `<job>/attempt-…`. */
  readonly path: string;
  readonly bytes: number;
}

interface KeptAttempt {
  readonly job: string;
  readonly epoch: number;
  bytes: number;
  newestMs: number;
  readonly paths: string[];
}

/**
 * Files to remove when an attempt begins: of the job's earlier attempts, the oldest first, until they fit beside what this attempt may write; then of the
 * namespace's jobs those that were written to longest ago. Attempts are removed whole. This attempt and later ones stay.
 */
export function filesToRemove(
  files: readonly KeptFile[],
  own: { readonly job: string; readonly epoch: number; readonly worldSize: number },
  bounds: KeptLogBounds,
): readonly string[] {
  const others = attemptsIn(files).filter(({ job, epoch }) => job !== own.job || epoch < own.epoch);
  const reserved = Math.min(bounds.rankBytes * own.worldSize, bounds.jobBytes / 2);
  const earlier = others.filter(({ job }) => job === own.job).sort((one, other) => one.epoch - other.epoch);
  const ofJob = oldestBeyond(earlier, bounds.jobBytes - reserved);
  const left = others.filter((one) => !ofJob.includes(one)).sort((one, other) => one.newestMs - other.newestMs);
  const ofProject = oldestBeyond(left, bounds.projectBytes - reserved);
  return [...ofJob, ...ofProject].flatMap(({ paths }) => paths);
}

/** The first of `attempts`, until the others have at most so many bytes. */
function oldestBeyond(attempts: readonly KeptAttempt[], bytes: number): readonly KeptAttempt[] {
  let sum = attempts.reduce((total, one) => total + one.bytes, 0);
  let count = 0;
  for (const one of attempts) {
    if (sum <= bytes) break;
    sum -= one.bytes;
    count += 1;
  }
  return attempts.slice(0, count);
}

function attemptsIn(files: readonly KeptFile[]): readonly KeptAttempt[] {
  const attempts = new Map<string, KeptAttempt>();
  for (const { path, bytes } of files) {
    const slash = path.indexOf('/');
    const job = path.slice(0, slash);
    const segment = parseSegmentPath(path.slice(slash + 1));
    // What is no segment is not Coxswain's to remove.
    if (segment === undefined) continue;
    const key = `${job}/${segment.epoch}`;
    const attempt = attempts.get(key) ?? { job, epoch: segment.epoch, bytes: 0, newestMs: 0, paths: [] };
    attempts.set(key, attempt);
    attempt.bytes += Math.max(bytes, LEAST_FILE_BYTES);
    attempt.newestMs = Math.max(attempt.newestMs, segment.startMs);
    attempt.paths.push(path);
  }
  return [...attempts.values()];
}
