/** Which checkpoints are verified more closely without a request? */
import { type Checkpoint, isAdopted, type VerificationLevel } from '@coxswain/api-types';
import { isNewer, isReadable } from '@coxswain/checkpoint';
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
 * Saves that were reported without a verification, up to V1, and then sound saves that were verified up to V1 alone, up to V2: of both the newest of each job
 * first. The launcher reports a save without a verification if its pod stops before the inspection ends. V1 reads metadata alone. For V2, namespaces divide the bytes of an hour evenly, and one that has used its share
 * has none. What a worker says that it read counts as at most the size of the save, so a false answer costs its own namespace alone.
 */
export function backgroundVerifications(
  checkpoints: readonly Checkpoint[],
  bounds: BackgroundBounds,
): readonly WantedVerification[] {
  if (bounds.bytesPerHour === 0) return [];
  const read = bytesRead(checkpoints, bounds.nowMs);
  const candidates = checkpoints.filter((checkpoint) => isCandidate(checkpoint) && bounds.hasJob(checkpoint));
  const unverified = candidates.filter((checkpoint) => isUnverified(checkpoint, bounds));
  const due = candidates.filter((checkpoint) => isVerifiedUpToV1(checkpoint, bounds));
  const namespaces = new Set([...read.keys(), ...due.map(namespaceOf)]);
  const share = bounds.bytesPerHour / namespaces.size;
  const affordable = due.filter((checkpoint) => (read.get(namespaceOf(checkpoint)) ?? 0) < share);
  return [...newestOfEachFirst(unverified), ...newestOfEachFirst(affordable)].map((checkpoint) => ({
    checkpoint,
    level: backgroundLevel(checkpoint),
    why: 'Background',
    otherThan: [],
  }));
}

/** How closely a save is read in the background. */
export function backgroundLevel({ status }: Checkpoint): VerificationLevel {
  return status?.verification === undefined ? 'V1' : 'V2';
}

function isCandidate({ metadata, status }: Checkpoint): boolean {
  const { state, suspect, deletion } = status ?? {};
  return (
    state === 'Complete' && suspect === undefined && deletion === undefined && metadata.deletionTimestamp === undefined
  );
}

/**
 * Whether a launcher reported the save without a verification. Other rules verify adopted and converted saves. A save in an unknown format stays as it is: a
 * pod for it would find no reader, every day again.
 */
function isUnverified({ metadata, spec, status }: Checkpoint, { nowMs }: BackgroundBounds): boolean {
  const isOfLauncher = !isAdopted({ spec }) && spec.convertedFrom === undefined;
  const isOld = nowMs - Date.parse(metadata.creationTimestamp ?? '') >= REST_MS;
  return isOfLauncher && status?.verification === undefined && isReadable(spec.format) && isOld;
}

function isVerifiedUpToV1({ status }: Checkpoint, { nowMs }: BackgroundBounds): boolean {
  const { verification } = status ?? {};
  return (
    verification?.level === 'V1' && verification.verdict === 'sound' && nowMs - Date.parse(verification.at) >= REST_MS
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
