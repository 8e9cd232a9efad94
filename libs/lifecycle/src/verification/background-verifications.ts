/** Which checkpoints are verified more closely without a request? */
import type { Checkpoint } from '@coxswain/api-types';
import { isNewer } from '@coxswain/checkpoint';
import type { WantedVerification } from './wanted-verifications.ts';

/** What bounds the reading in the background. */
export interface BackgroundBounds {
  /** Bytes that workers read in an hour, in all namespaces. 0: nothing is read in the background. */
  readonly bytesPerHour: number;
  readonly nowMs: number;
  /** Whether the job that saved the checkpoint still exists. */
  readonly hasJob: (checkpoint: Checkpoint) => boolean;
}

const HOUR_MS = 3_600_000;
/** So that of the saves of a job that saves every minute, few are read. */
const REST_MS = 600_000;

/**
 * Sound saves that were verified up to V1 alone, the newest of each job first. Namespaces divide the bytes of an hour evenly, and one that has used its share
 * has none. What a worker says that it read counts as at most the size of the save, so a false answer costs its own namespace alone.
 */
export function backgroundVerifications(
  checkpoints: readonly Checkpoint[],
  bounds: BackgroundBounds,
): readonly WantedVerification[] {
  if (bounds.bytesPerHour === 0) return [];
  const read = bytesRead(checkpoints, bounds.nowMs);
  const due = checkpoints.filter((checkpoint) => isDue(checkpoint, bounds));
  const namespaces = new Set([...read.keys(), ...due.map(namespaceOf)]);
  const share = bounds.bytesPerHour / namespaces.size;
  return newestOfEachFirst(due.filter((checkpoint) => (read.get(namespaceOf(checkpoint)) ?? 0) < share)).map(
    (checkpoint) => ({ checkpoint, level: 'V2', why: 'Background', otherThan: [] }),
  );
}

function isDue(checkpoint: Checkpoint, { nowMs, hasJob }: BackgroundBounds): boolean {
  const { state, suspect, verification } = checkpoint.status ?? {};
  return (
    state === 'Complete' &&
    suspect === undefined &&
    verification?.level === 'V1' &&
    verification.verdict === 'sound' &&
    nowMs - Date.parse(verification.at) >= REST_MS &&
    checkpoint.metadata.deletionTimestamp === undefined &&
    hasJob(checkpoint)
  );
}

/** By namespace, in the last hour. */
function bytesRead(checkpoints: readonly Checkpoint[], nowMs: number): ReadonlyMap<string, number> {
  const read = new Map<string, number>();
  for (const checkpoint of checkpoints) {
    const { verification } = checkpoint.status ?? {};
    if (verification?.by !== 'Worker' || nowMs - Date.parse(verification.at) >= HOUR_MS) continue;
    const bytes = Math.min(verification.readBytes, checkpoint.spec.bytes);
    const namespace = namespaceOf(checkpoint);
    read.set(namespace, (read.get(namespace) ?? 0) + bytes);
  }
  return read;
}

/** The newest of each job, then the second newest of each. */
function newestOfEachFirst(checkpoints: readonly Checkpoint[]): readonly Checkpoint[] {
  const byJob = Map.groupBy(checkpoints, ({ spec }) => spec.jobUid);
  const ranked = [...byJob.values()].flatMap((ofJob) =>
    ofJob.toSorted((one, other) => (isNewer(one, other) ? -1 : 1)).map((checkpoint, rank) => ({ checkpoint, rank })),
  );
  return ranked.toSorted((one, other) => one.rank - other.rank).map(({ checkpoint }) => checkpoint);
}

function namespaceOf({ metadata }: Checkpoint): string {
  return metadata.namespace ?? '';
}
