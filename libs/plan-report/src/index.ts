export { choicesOf, formatDegrees, describeVerdict } from './describe-plan.ts';
export { type DrawnGang, fabricDrawing } from './fabric-drawing.ts';
export { formatCount, formatGib, formatHours, formatSeconds, formatShare, formatUsd } from './figures.ts';
export { labelOfPart } from './part-names.ts';
export { planReport, type PlanReportFacts } from './plan-report.ts';
export { stageNote, explainOrder } from './reading-aids.ts';
export { errorRange, errorSentence, peakRange } from './prediction-error.ts';
