export { interpretRow, type Interpretation } from './interpret-row.ts';
export { MeasurementsError, readRows, withoutRepeatedIds, sourceOfId, type MeasuredRow } from './measured-row.ts';
