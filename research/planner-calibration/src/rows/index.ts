export { interpretRow } from './interpret-row.ts';
export { readRows, sourceOfId, type MeasuredRow } from './measured-row.ts';
