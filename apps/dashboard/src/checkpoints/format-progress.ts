import type { CheckpointRecord } from '@coxswain/api-types';

type Progressed = Pick<CheckpointRecord, 'progress' | 'step'>;

/** `2.31`, or `2.31 of step 10`; undefined: none was reported, or an API of the release before answered. */
export function describeLoss({ progress, step }: Progressed): string | undefined {
  if (progress?.loss === undefined) return undefined;
  const { loss, lossStep = step } = progress;
  const shown = loss.toLocaleString('en', { maximumSignificantDigits: 5 });
  return lossStep === step ? shown : `${shown} of step ${lossStep.toLocaleString('en')}`;
}

/** Tokens of all steps up to the save; undefined: not known. */
export function describeTokens({ progress }: Pick<Progressed, 'progress'>): string | undefined {
  return progress?.tokens?.toLocaleString('en');
}
