/** The constants of predictions, and the errors of predictions. */
import { constantsFor } from './calibration.ts';
import { withProfile } from './with-profile.ts';
import { basisOf, COVERAGE_PCT, errorsLike, memoryErrorsLike } from './errors.ts';
import { CALIBRATION, ERRORS } from './fitted.ts';
import type { RunFacts } from '../facts.ts';
import type { MemoryInterval, PredictionError, PredictionInterval } from '../contract.ts';
import type { TimeConstants } from '../time/constants.ts';

/** The constants of a run: calibration, multiplied by the profile of its cluster. */
export function constantsOf(run: Pick<RunFacts, 'cluster' | 'stack'>): TimeConstants {
  const constants = constantsFor(CALIBRATION, run.cluster.gpu.silicon, run.stack);
  const { profile } = run.cluster;
  return profile === undefined ? constants : withProfile(constants, profile, run.stack);
}

/** The error of a prediction and its intervals. Error and interval of the step time come from the same measured rows. */
export function errorsOf(
  run: RunFacts,
  { stepTimeS, peakGib }: { readonly stepTimeS: number; readonly peakGib: number },
): {
  readonly error: PredictionError;
  readonly interval: PredictionInterval;
  readonly peakInterval: MemoryInterval;
} {
  const like = { chip: run.cluster.gpu.silicon, stack: run.stack, hasExperts: run.model.experts !== undefined };
  const cell = errorsLike(ERRORS, like);
  const memory = memoryErrorsLike(ERRORS, like);
  const { n, medianAbsPct, p90AbsPct, low, high, standsOn } = cell;
  return {
    error: { basis: basisOf(cell), medianAbsPct, p90AbsPct, n },
    interval: { lowS: stepTimeS * low, highS: stepTimeS * high, coveragePct: COVERAGE_PCT, standsOn, rows: n },
    peakInterval: {
      lowGib: peakGib * memory.low,
      highGib: peakGib * memory.high,
      coveragePct: COVERAGE_PCT,
      standsOn: memory.standsOn,
      rows: memory.n,
    },
  };
}

/** A sentence about the calibration: its measurements and its errors. */
export function calibrationSentence(): string {
  return `Fitted on ${CALIBRATION.fittedOn}.`;
}
