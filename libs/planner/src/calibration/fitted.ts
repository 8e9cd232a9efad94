import type { Calibration } from './calibration.ts';
import fitted from './calibration.json' with { type: 'json' };
import errors from './errors.json' with { type: 'json' };
import { CalibrationErrors } from './errors.ts';

/** The constants that predictions use: fitted by `npm run planner:fit`, checked against their schema by a test. */
export const CALIBRATION: Calibration = fitted;
/** Their errors on rows that they were fitted without: written by `npm run planner:cross-validate -- --record`. */
export const ERRORS: CalibrationErrors = CalibrationErrors.parse(errors);
