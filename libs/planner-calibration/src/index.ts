export { crossValidate, withScalarPerSource } from './cross-validate/cross-validate.ts';
export { learn, trainingRows, type TrainingRow } from './fit/learn.ts';
export { rounded } from './fit/rounded.ts';
export { filesOrRepository, readMeasurements, textOf } from './rows/measurement-files.ts';
export { plannerPredictor } from './score/predictor.ts';
export { constantsLine, GROUPINGS, reportLines, type Grouping } from './score/report.ts';
export { scoreRows } from './score/score-rows.ts';
export { summaryLine, summaryOf, type Summary } from './score/summary.ts';
