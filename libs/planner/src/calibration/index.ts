export {
  ALL_PYTORCH,
  CalibrationErrors,
  COVERAGE_PCT,
  errorsLike,
  isPyTorchEngine,
  memoryErrorsLike,
  MIN_CELL_ROWS,
  type ErrorCell,
  type ModelKind,
} from './errors.ts';
export { unknownConstantsOf, WHOLE_STEP, withProfile } from './with-profile.ts';
export { CALIBRATION, ERRORS } from './fitted.ts';
export { probeFormulas } from './probe-formulas.ts';
export { Calibration, constantsFor, countConstants, familyOfStack } from './calibration.ts';
export { recomputedLayersOf } from '../recomputation-policies.ts';
export { ADJUSTMENT_NAMES, ADJUSTMENTS, TIME_CONSTANT_NAMES, TIME_CONSTANTS } from '../time/constants.ts';
export type { AdjustmentName, Adjustments, TimeConstantName, TimeConstants } from '../time/constants.ts';
export { predictStepTime } from '../time/step-time.ts';
export type { RunFacts } from '../facts.ts';
