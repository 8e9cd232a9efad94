import type { Calibration } from './calibration.ts';
import fitted from './calibration.json' with { type: 'json' };
import errors from './errors.json' with { type: 'json' };
import type { CalibrationErrors } from './errors.ts';

/** The constants that predictions use: fitted by `npm run planner:fit`, checked against their schema by a test. */
export const CALIBRATION: Calibration = fitted;
/** Their errors: on the rows they were fitted on by `npm run planner:fit`, on sources left out by `npm run planner:cross-validate -- --record`. */
export const ERRORS: CalibrationErrors = errors;
