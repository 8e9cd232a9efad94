/** Which checkpoints does a worker verify, how closely, and on which nodes not? */
import {
  ANNOTATIONS,
  type Checkpoint,
  isAdopted,
  VERIFICATION_LEVELS,
  type VerificationLevel,
} from '@coxswain/api-types';
import { isFoundBroken } from '@coxswain/checkpoint';

/** A verification that a worker is to do. */
export interface WantedVerification {
  readonly checkpoint: Checkpoint;
  readonly level: VerificationLevel;
  /** Adopted: no verification has read the directory that a user named. */
  readonly why: 'Requested' | 'Adopted' | 'Suspected';
  /** Nodes that have already read it: only another one can confirm what they found. */
  readonly otherThan: readonly string[];
}

const REQUEST = /^(V[0-3])(?: (\d{4}-\d\d-\d\dT[\d:.]+Z))?$/;

/** Reads little of a directory that nobody has read yet; a user can ask for more. */
const ADOPTED_LEVEL: VerificationLevel = 'V2';

/** Those that users asked for or adopted first, and then those in doubt; of each the newest step first. */
export function wantedVerifications(checkpoints: readonly Checkpoint[]): readonly WantedVerification[] {
  const wanted = checkpoints
    .filter(
      ({ metadata, spec, status }) =>
        metadata.deletionTimestamp === undefined && (status !== undefined || isAdopted({ spec })),
    )
    .flatMap((checkpoint) => requestOf(checkpoint) ?? adoptionOf(checkpoint) ?? doubtOf(checkpoint) ?? []);
  return wanted.toSorted(
    (one, other) =>
      Number(one.why === 'Suspected') - Number(other.why === 'Suspected') ||
      other.checkpoint.spec.step - one.checkpoint.spec.step,
  );
}

/** Value of the annotation that asks for a verification: a level, and since when it counts. Hostile or mistyped: undefined. */
function requestOf(checkpoint: Checkpoint): WantedVerification | undefined {
  const [, level, since] = REQUEST.exec(checkpoint.metadata.annotations?.[ANNOTATIONS.verify] ?? '') ?? [];
  if (level === undefined) return undefined;
  const wanted = level as VerificationLevel;
  const { verification } = checkpoint.status ?? {};
  const isDone =
    verification?.by === 'Worker' &&
    isAsClose(verification.level, wanted) &&
    (since === undefined || Date.parse(verification.at) >= Date.parse(since));
  return isDone ? undefined : { checkpoint, level: wanted, why: 'Requested', otherThan: [] };
}

/** One that a user adopted, and that was never read. */
function adoptionOf(checkpoint: Checkpoint): WantedVerification | undefined {
  if (!isAdopted(checkpoint) || checkpoint.status?.verification !== undefined) return undefined;
  return { checkpoint, level: ADOPTED_LEVEL, why: 'Adopted', otherThan: [] };
}

/** One that a node found damaged, or that could not be loaded: all of its bytes are read once by another node. */
function doubtOf(checkpoint: Checkpoint): WantedVerification | undefined {
  const { state, suspect, verification } = checkpoint.status ?? {};
  if (state !== 'Complete') return undefined;
  const nodes = new Set(
    (suspect?.evidence ?? []).filter(({ kind }) => kind === 'ContentDiffers').map(({ node }) => node),
  );
  const isRead = verification?.by === 'Worker' && isAsClose(verification.level, 'V3');
  const isUnconfirmed = isFoundBroken(checkpoint) && nodes.size < 2;
  const isDoubted = suspect !== undefined && suspect.reason !== 'StorageUnavailable' && !isRead;
  if (!isUnconfirmed && !isDoubted) return undefined;
  const node = isFoundBroken(checkpoint) ? verification?.node : undefined;
  if (node !== undefined) nodes.add(node);
  return { checkpoint, level: 'V3', why: 'Suspected', otherThan: [...nodes] };
}

/** Whether a verification of `level` answers a request for `wanted`. */
export function isAsClose(level: VerificationLevel, wanted: VerificationLevel): boolean {
  return VERIFICATION_LEVELS.indexOf(level) >= VERIFICATION_LEVELS.indexOf(wanted);
}
