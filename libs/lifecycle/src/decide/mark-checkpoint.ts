/** What does a Checkpoint's status say of its standing? */
import {
  type Checkpoint,
  type CheckpointResourceStatus,
  type CheckpointSuspicion,
  describeLocation,
} from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import {
  describeCondemnation,
  describeSuspicion,
  type CheckpointStanding,
  type Standings,
  standingOf,
} from '../failure/checkpoint-standing.ts';
import type { Action } from './decision.ts';

type Mark = Extract<Action, { kind: 'markCheckpointDamaged' | 'markCheckpoint' }>;

/** The write that makes the object's status agree with the standing of the checkpoint; undefined: it agrees. */
export function markOf(checkpoint: Checkpoint, standings: Standings): Mark | undefined {
  const { metadata, spec, status } = checkpoint;
  const { name, uid } = metadata;
  // Retention has the last word on what it deletes.
  if (status?.deletion !== undefined) return undefined;
  const standing = standingOf(checkpoint, standings);
  if (standing.kind === 'damaged') {
    const { condemnation } = standing;
    if (condemnation === undefined || status?.state === 'Damaged') return undefined;
    const message = `It is not used: ${describeCondemnation(condemnation)}. ${VERIFIED_AGAIN}`;
    return { kind: 'markCheckpointDamaged', name, uid, message: safeText(message, MAX_CHARACTERS), condemnation };
  }
  // Not saved by any release, without a state because of a crash, or adopted and not verified.
  if (status?.state === undefined || status.state === 'Unverified') return undefined;
  const wanted = standing.kind === 'usable' ? COMPLETE : suspectStatus(standing, describeLocation(spec));
  return isSame(status, wanted) ? undefined : { kind: 'markCheckpoint', name, uid, status: wanted };
}

const MAX_CHARACTERS = 4096;
const VERIFIED_AGAIN =
  'An attempt that begins from an older one verifies it again, at most once an hour, and it is used if it verifies.';
const COMPLETE: CheckpointResourceStatus = { state: 'Complete' };

function suspectStatus(
  { suspicion, isPassedOver }: Extract<CheckpointStanding, { kind: 'suspect' }>,
  location: string,
): CheckpointResourceStatus {
  const next = isPassedOver
    ? 'An older one is used until it verifies: each attempt that begins from an older one verifies it first.'
    : NEXT_SENTENCES[suspicion.reason];
  const message = `It is suspect, because ${describeSuspicion(suspicion, isPassedOver)}. ${next}`;
  return {
    state: 'Complete',
    message: safeText(message.replace('its claim', location), MAX_CHARACTERS),
    suspect: suspicion,
  };
}

const NEXT_SENTENCES: Readonly<Record<CheckpointSuspicion['reason'], string>> = {
  ContentDiffers: 'The next attempt verifies it on another node.',
  Unreadable: 'The next attempt verifies it on another node.',
  EngineRefused: 'The next attempt tries it again.',
  StorageUnavailable: 'The next attempt verifies it again.',
};

function isSame(status: CheckpointResourceStatus, wanted: CheckpointResourceStatus): boolean {
  if (status.state !== wanted.state || (status.suspect === undefined) !== (wanted.suspect === undefined)) return false;
  const { suspect: there } = status;
  const { suspect: want } = wanted;
  if (want === undefined) return true;
  return there?.reason === want.reason && keysOf(there) === keysOf(want) && status.message === wanted.message;
}

function keysOf(suspicion: CheckpointSuspicion | undefined): string {
  return (suspicion?.evidence ?? []).map(({ epoch, node, kind }) => `${epoch} ${node} ${kind}`).join('; ');
}
