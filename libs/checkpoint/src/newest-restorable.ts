import type { Checkpoint } from '@coxswain/api-types';

/**
 * The checkpoint to resume from: of this job (by UID), complete, not damaged, not being deleted. The highest step wins; of equal
 * steps the latest attempt, and in it the latest incarnation. Files without a Checkpoint object never count.
 */
export function newestRestorable(
  checkpoints: readonly Checkpoint[],
  options: { readonly jobUid: string },
): Checkpoint | undefined {
  let newest: Checkpoint | undefined;
  for (const checkpoint of checkpoints) {
    if (!isRestorable(checkpoint, options.jobUid)) continue;
    if (newest === undefined || isNewer(checkpoint, newest)) newest = checkpoint;
  }
  return newest;
}

function isRestorable(checkpoint: Checkpoint, jobUid: string): boolean {
  const { metadata, spec, status } = checkpoint;
  return (
    spec.jobUid === jobUid &&
    Number.isSafeInteger(spec.step) &&
    Number.isSafeInteger(spec.epoch) &&
    status?.state === 'Complete' &&
    metadata.deletionTimestamp === undefined
  );
}

/** Whether training would resume from `one` rather than from `other`. */
export function isNewer(one: Checkpoint, other: Checkpoint): boolean {
  if (one.spec.step !== other.spec.step) return one.spec.step > other.spec.step;
  if (one.spec.epoch !== other.spec.epoch) return one.spec.epoch > other.spec.epoch;
  return (one.spec.incarnation ?? 1) > (other.spec.incarnation ?? 1);
}
