import type { Calibration } from './calibration.ts';
import fitted from './calibration.json' with { type: 'json' };

/** The constants that predictions use: fitted by `npm run planner:fit`, checked against its schema by a test. */
export const CALIBRATION: Calibration = fitted;
