/** The constants of predictions, and the errors of predictions. */
import { constantsFor } from './calibration.ts';
import { withProfile } from './with-profile.ts';
import { basisOf, COVERAGE_PCT, errorsLike } from './errors.ts';
import { CALIBRATION, ERRORS } from './fitted.ts';
import type { RunFacts } from '../facts.ts';
import type { PredictionError, PredictionInterval } from '../contract.ts';
import type { TimeConstants } from '../time/constants.ts';

/** The constants of a run: calibration, multiplied by the profile of its cluster. */
export function constantsOf(run: Pick<RunFacts, 'cluster' | 'stack'>): TimeConstants {
  const constants = constantsFor(CALIBRATION, run.cluster.gpu.silicon, run.stack);
  const { profile } = run.cluster;
  return profile === undefined ? constants : withProfile(constants, profile, run.stack);
}

/** The error and the interval of a prediction, from the same measured rows. */
export function errorsOf(
  run: RunFacts,
  stepTimeS: number,
): { readonly error: PredictionError; readonly interval: PredictionInterval } {
  const { silicon: chip } = run.cluster.gpu;
  const cell = errorsLike(ERRORS, { chip, stack: run.stack, hasExperts: run.model.experts !== undefined });
  const { n, medianAbsPct, p90AbsPct, low, high, standsOn } = cell;
  return {
    error: { basis: basisOf(cell), medianAbsPct, p90AbsPct, n },
    interval: { lowS: stepTimeS * low, highS: stepTimeS * high, coveragePct: COVERAGE_PCT, standsOn, rows: n },
  };
}

/** A sentence about the calibration: its measurements and its errors. */
export function calibrationSentence(): string {
  return `Fitted on ${CALIBRATION.fittedOn}.`;
}
