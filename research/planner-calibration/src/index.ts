export { crossValidate } from './cross-validate/cross-validate.ts';
export { errorCells } from './cross-validate/error-cells.ts';
export { LEFT_OUT } from './cross-validate/folds.ts';
export {
  apartFile,
  leftOutFile,
  RECORDED_LEFT_OUT,
  type RecordedApart,
  type RecordedLeftOut,
} from './cross-validate/left-out-files.ts';
export { leftOutCsv, leftOutRows, memoryRows, readLeftOutRows } from './cross-validate/left-out-row.ts';
export { withScalarPerSource } from './cross-validate/scalar-of-source.ts';
export { learn, trainingRows, type TrainingRow } from './fit/learn.ts';
export { rounded } from './fit/rounded.ts';
export { filesKeptApart, filesOrRepository, readMeasurements, textOf } from './rows/measurement-files.ts';
export { plannerPredictor } from './score/predictor.ts';
export { constantsLine, GROUPINGS, reportLines, type Grouping } from './score/report.ts';
export { scoreRows, type ScoredRows } from './score/score-rows.ts';
export { summaryLine, summaryOf, type Summary } from './score/summary.ts';
export { againstPublished, publishedJobs } from './score/against-published.ts';
