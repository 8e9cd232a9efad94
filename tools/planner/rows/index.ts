export { interpretRow, type Interpretation } from './interpret-row.ts';
export { MeasurementsError, readRows, sourceOfId, type MeasuredRow } from './measured-row.ts';
