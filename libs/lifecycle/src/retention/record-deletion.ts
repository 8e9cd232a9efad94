/** What does the status of a checkpoint say while retention decides about it and deletes it? */
import type { Checkpoint, CheckpointResourceStatus, CheckpointRetention } from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';

const MAX_CHARACTERS = 512;

type Status = CheckpointResourceStatus;

/** The status with the decision; undefined: it says so already. */
export function withDecision(
  { status }: Checkpoint,
  { action, because }: { readonly action: 'Keep' | 'Delete'; readonly because: string },
  policy: Pick<CheckpointRetention, 'whenJobIsDeleted'> | undefined,
): Status | undefined {
  if (status === undefined) return undefined;
  const retention = {
    action,
    because: safeText(because, MAX_CHARACTERS),
    ...(policy?.whenJobIsDeleted === 'Delete' ? { whenJobIsDeleted: policy.whenJobIsDeleted } : {}),
  };
  const { retention: before } = status;
  const isSame =
    before?.action === retention.action &&
    before.because === retention.because &&
    before.whenJobIsDeleted === retention.whenJobIsDeleted;
  return isSame ? undefined : { ...status, retention };
}

/** The status once no policy applies; undefined: it says nothing of retention. */
export function withoutDecision({ status }: Checkpoint): Status | undefined {
  if (status?.retention === undefined) return undefined;
  const { retention: _decision, ...rest } = status;
  return rest;
}

/**
 * The status with an order to delete. State Damaged comes first: every release leaves such a checkpoint alone, also one that does not know deletions. The
 * message says what is meant.
 */
export function withDeletionOrdered(status: Status, because: string, at: string): Status {
  const why = safeText(because, MAX_CHARACTERS);
  const message = `Deleting: the retention policy deletes it. ${why}`;
  return { ...status, state: 'Damaged', message, deletion: { orderedAt: at, stateBefore: status.state, because: why } };
}

/** Before the worker is created. From then on the deletion is completed, whatever happens. */
export function withDeletionStarted(status: Status, at: string): Status {
  return status.deletion === undefined ? status : { ...status, deletion: { ...status.deletion, startedAt: at } };
}

/** Nothing was deleted: the checkpoint is what it was. */
export function withDeletionTakenBack(status: Status, why: string): Status {
  const { deletion, message: _order, ...rest } = status;
  if (deletion === undefined) return status;
  const { retention } = status;
  const because = safeText(why, MAX_CHARACTERS);
  return { ...rest, state: deletion.stateBefore, retention: { ...retention, action: 'Keep', because } };
}

/** Why the last worker did not complete the deletion; undefined: the status says so already. */
export function withDeletionProblem(status: Status, why: string): Status | undefined {
  const problem = safeText(why, MAX_CHARACTERS);
  if (status.deletion === undefined || status.deletion.problem === problem) return undefined;
  return { ...status, deletion: { ...status.deletion, problem } };
}

/** A worker did not find the files, although it could read others. */
export function withAbsence(status: Status, at: string): Status {
  return { ...status, absent: status.absent ?? { since: at } };
}

/** The checkpoint as it was before a deletion that has not started. */
export function asBefore(checkpoint: Checkpoint): Checkpoint {
  const { status } = checkpoint;
  if (status?.deletion === undefined || status.deletion.startedAt !== undefined) return checkpoint;
  const { deletion, message: _order, ...rest } = status;
  return { ...checkpoint, status: { ...rest, state: deletion.stateBefore } };
}
