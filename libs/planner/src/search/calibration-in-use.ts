/** Which constants do predictions use, and how far off were they? */
import { constantsFor, type Calibration } from '../calibration/calibration.ts';
import type { RunFacts } from '../facts.ts';
import type { PredictionError } from '../plan-types.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName, type TimeConstants } from '../time/constants.ts';

const CALIBRATION: Calibration = {
  fittedOn: 'nothing: the starting values of the constants',
  shared: Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start])) as Record<
    TimeConstantName,
    number
  >,
  gpus: {},
  families: {},
  stacks: {},
};

export function constantsOf(run: Pick<RunFacts, 'cluster' | 'stack'>): TimeConstants {
  return constantsFor(CALIBRATION, run.cluster.gpu.name, run.stack);
}

export function errorOf(_run: RunFacts): PredictionError {
  return { basis: CALIBRATION.fittedOn, medianAbsPct: 0, p90AbsPct: 0, n: 0 };
}

export function calibrationSentence(): string {
  return `Fitted on ${CALIBRATION.fittedOn}.`;
}
