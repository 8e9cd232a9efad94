export { interpretRow, type Interpretation } from './interpret-row.ts';
export { MeasurementsError, readRows, type MeasuredRow } from './measured-row.ts';
