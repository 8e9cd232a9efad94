import { type Checkpoint, VERIFICATION_LEVELS } from '@coxswain/api-types';

/**
 * The checkpoint to resume from: of this job (by UID), complete, not damaged, not being deleted, and not found damaged or incomplete when its bytes were
 * verified. The highest step wins; of equal steps the one whose bytes were verified more closely, then the latest attempt, and in it the latest incarnation.
 * Files without a Checkpoint object never count.
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
    !isFoundBroken(checkpoint) &&
    metadata.deletionTimestamp === undefined
  );
}

/**
 * Whether a catalogue calls it good: training may resume from it, and nothing is held against it. A suspect one is not good, nor is one whose files a worker did
 * not find, though training may try both again.
 */
export function isGood(checkpoint: Checkpoint): boolean {
  const { suspect, absent, deletion } = checkpoint.status ?? {};
  const isHeld = (suspect ?? absent ?? deletion) !== undefined;
  return isRestorable(checkpoint, checkpoint.spec.jobUid) && !isHeld;
}

/** Verdicts that keep training from a checkpoint. */
export const BROKEN_VERDICTS: readonly string[] = ['damaged', 'incomplete'];

/** Whether the verification of its bytes found it damaged or incomplete. A later one, on another node, can find otherwise. */
export function isFoundBroken({ status }: Pick<Checkpoint, 'status'>): boolean {
  const verdict = status?.verification?.verdict;
  return verdict !== undefined && BROKEN_VERDICTS.includes(verdict);
}

/** Whether training would resume from `one` rather than from `other`. */
export function isNewer(one: Checkpoint, other: Checkpoint): boolean {
  if (one.spec.step !== other.spec.step) return one.spec.step > other.spec.step;
  if (closenessOf(one) !== closenessOf(other)) return closenessOf(one) > closenessOf(other);
  if (one.spec.epoch !== other.spec.epoch) return one.spec.epoch > other.spec.epoch;
  return (one.spec.incarnation ?? 1) > (other.spec.incarnation ?? 1);
}

/** How closely it was found sound. One that an earlier release recorded, or whose format no reader knows, counts as V1. */
function closenessOf({ status }: Checkpoint): number {
  const { level = 'V1', verdict = 'sound' } = status?.verification ?? {};
  if (verdict === 'sound') return VERIFICATION_LEVELS.indexOf(level);
  return verdict === 'unverifiable' ? VERIFICATION_LEVELS.indexOf('V1') : 0;
}
