import type { Checkpoint, CheckpointProgress, SavedProgress } from '@coxswain/api-types';

/**
 * What a Checkpoint records of loss and tokens. A launcher counts from where its ranks began, so `base`, the checkpoint that they resumed from, has the rest.
 * Without the tokens of the base the sum is not known.
 */
export function progressOf(
  { loss, lossStep, tokens, fromStep, duringWrite }: SavedProgress,
  base: Checkpoint | undefined,
): CheckpointProgress {
  const before = fromStep === 0 && base === undefined ? 0 : tokensAt(fromStep, base);
  const sum = tokens === undefined || before === undefined ? undefined : tokens + before;
  return {
    ...(loss === undefined || lossStep === undefined ? {} : { loss, lossStep }),
    ...(sum === undefined || !Number.isSafeInteger(sum) ? {} : { tokens: sum }),
    ...(duringWrite === undefined ? {} : { stepsDuringWrite: duringWrite.steps, msDuringWrite: duringWrite.ms }),
  };
}

/** Tokens of the checkpoint, if it is one of this step. */
function tokensAt(step: number, checkpoint: Checkpoint | undefined): number | undefined {
  return checkpoint?.spec.step === step ? checkpoint.status?.progress?.tokens : undefined;
}
