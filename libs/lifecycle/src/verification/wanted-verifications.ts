/** Which checkpoints does a worker verify, how closely, and on which nodes not? */
import { type Checkpoint, type CheckpointVerification, isAdopted, type VerificationLevel } from '@coxswain/api-types';
import { isAsClose, isFoundBroken, pendingVerification } from '@coxswain/checkpoint';

/** A verification that a worker is to do. */
export interface WantedVerification {
  readonly checkpoint: Checkpoint;
  readonly level: VerificationLevel;
  /** Adopted: no verification has read the directory that a user named. Background: no user asked for it, and nothing is held against the checkpoint. */
  readonly why: 'Requested' | 'Adopted' | 'Suspected' | 'Background';
  /** Nodes that have already read it: only another one can confirm what they found. */
  readonly otherThan: readonly string[];
}

/** After which a node may contradict a verification of its own. */
const OLD_MS = 3_600_000;
/** Reads little of a directory that was never read; a user can ask for more. */
const ADOPTED_LEVEL: VerificationLevel = 'V2';

/** Those that users asked for or adopted, and those in doubt. Which of them is next is a matter of turns. */
export function wantedVerifications(checkpoints: readonly Checkpoint[], nowMs: number): readonly WantedVerification[] {
  const failures = failedConversions(checkpoints);
  return checkpoints
    .filter(
      ({ metadata, spec, status }) =>
        metadata.deletionTimestamp === undefined && (status !== undefined || isAdopted({ spec })),
    )
    .filter(({ status }) => status?.deletion === undefined)
    .filter((one) => isThere(one))
    .flatMap(
      (checkpoint) =>
        requestOf(checkpoint) ??
        adoptionOf(checkpoint) ??
        doubtOf(checkpoint, nowMs) ??
        sourceOf(checkpoint, failures) ??
        [],
    );
}

/** When each conversion that its pod could not complete was ordered, by the UID of its source. */
function failedConversions(checkpoints: readonly Checkpoint[]): ReadonlyMap<string, string> {
  const found = checkpoints.flatMap(({ spec, status }): (readonly [string, string])[] => {
    const { failedAt, readBytes, orderedAt } = status?.conversion ?? {};
    const { uid } = spec.convertedFrom ?? {};
    const isAnswered = failedAt !== undefined && readBytes !== undefined;
    return isAnswered && uid !== undefined && orderedAt !== undefined ? [[uid, orderedAt]] : [];
  });
  return new Map(found);
}

/** The source of a conversion that failed is read whole, once: its bytes can have changed since it was saved. */
function sourceOf(checkpoint: Checkpoint, failures: ReadonlyMap<string, string>): WantedVerification | undefined {
  const orderedAt = failures.get(checkpoint.metadata.uid);
  const { state, verification } = checkpoint.status ?? {};
  if (orderedAt === undefined || state !== 'Complete') return undefined;
  const isRead =
    verification?.by === 'Worker' &&
    isAsClose(verification.level, 'V3') &&
    Date.parse(verification.at) >= Date.parse(orderedAt);
  return isRead ? undefined : { checkpoint, level: 'V3', why: 'Suspected', otherThan: [] };
}

/** Whether its files are complete: of a save that is being converted, or whose conversion failed, there is nothing to read. */
function isThere({ spec, status }: Checkpoint): boolean {
  const { convertedAt, failedAt, droppedAt } = status?.conversion ?? {};
  return spec.convertedFrom === undefined || (convertedAt !== undefined && (failedAt ?? droppedAt) === undefined);
}

function requestOf(checkpoint: Checkpoint): WantedVerification | undefined {
  const request = pendingVerification(checkpoint);
  if (request === undefined) return undefined;
  // Jobs resume from an adopted one that was read, so less than that is not enough.
  const isUnread = isAdopted(checkpoint) && checkpoint.status?.verification === undefined;
  const level = isUnread && !isAsClose(request.level, ADOPTED_LEVEL) ? ADOPTED_LEVEL : request.level;
  return { checkpoint, level, why: 'Requested', otherThan: [] };
}

/** One that a user adopted, and that was never read. */
function adoptionOf(checkpoint: Checkpoint): WantedVerification | undefined {
  if (!isAdopted(checkpoint) || checkpoint.status?.verification !== undefined) return undefined;
  return { checkpoint, level: ADOPTED_LEVEL, why: 'Adopted', otherThan: [] };
}

/**
 * One that a node found damaged, or that could not be loaded: another node reads all of its bytes once. If no other node has done so within an hour, the cluster
 * may have none: then the same node reads them again. Or one with signs that two saves are mixed: any node reads all of its bytes once.
 */
function doubtOf(checkpoint: Checkpoint, nowMs: number): WantedVerification | undefined {
  const { state, suspect, verification } = checkpoint.status ?? {};
  if (state !== 'Complete') return undefined;
  const nodes = new Set(
    (suspect?.evidence ?? []).filter(({ kind }) => kind === 'ContentDiffers').map(({ node }) => node),
  );
  const isRead = verification?.by === 'Worker' && isAsClose(verification.level, 'V3');
  const isUnconfirmed = isFoundBroken(checkpoint) && nodes.size < 2;
  const isDoubted = suspect !== undefined && suspect.reason !== 'StorageUnavailable' && !isRead;
  // Shards of another save have right sizes and sums: only their SHA-256 shows them.
  const hasSigns =
    verification?.verdict === 'suspect' && !isAsClose(verification.level, 'V3') && !isAdopted(checkpoint);
  if (!isUnconfirmed && !isDoubted && !hasSigns) return undefined;
  const node = isFoundBroken(checkpoint) ? verification?.node : undefined;
  if (node !== undefined) nodes.add(node);
  const isAlone = nodes.size === 1 && isFoundBroken(checkpoint) && isOld(verification, nowMs);
  return { checkpoint, level: 'V3', why: 'Suspected', otherThan: isAlone ? [] : [...nodes] };
}

/** Whether a node may contradict its own verification: its page cache and its mounts can have changed since. */
export function isOld(verification: CheckpointVerification | undefined, nowMs: number): boolean {
  return verification !== undefined && nowMs - Date.parse(verification.at) >= OLD_MS;
}
