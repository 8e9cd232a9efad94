/** Which constants do predictions use, and how far off were they? */
import { constantsFor } from './calibration.ts';
import { withProfile } from './with-profile.ts';
import { errorFor } from './errors.ts';
import { CALIBRATION, ERRORS } from './fitted.ts';
import type { RunFacts } from '../facts.ts';
import type { PredictionError } from '../contract.ts';
import type { TimeConstants } from '../time/constants.ts';

export function constantsOf(run: Pick<RunFacts, 'cluster' | 'stack'>): TimeConstants {
  const constants = constantsFor(CALIBRATION, run.cluster.gpu.silicon, run.stack);
  const { profile } = run.cluster;
  return profile === undefined ? constants : withProfile(constants, profile, run.stack);
}

export function errorOf(run: RunFacts): PredictionError {
  return errorFor(ERRORS, { stack: run.stack, hasExperts: run.model.experts !== undefined });
}

export function calibrationSentence(): string {
  return `Fitted on ${CALIBRATION.fittedOn}.`;
}
