/** What would weeks on so many GPUs be like, failures and all? Seeded discrete events that drive the real rules on virtual time. */
export type { FailurePresetName } from './presets/failures.ts';
export type { ResponseName } from './presets/responses.ts';
export type { SimulationQuestion } from './report/questions.ts';
export { HistoryError, type HistoryJob, type ReadHistory } from './queue/history/history-job.ts';
export { parseCoxswainJobs } from './queue/history/parse-coxswain-jobs.ts';
export { parseSacct } from './queue/history/parse-sacct.ts';
export { replayHistory, type ReplayReport } from './queue/history/replay.ts';
export type { QueueRuleName } from './queue/rules/rule-titles.ts';
export type { QueueMeasures } from './queue/run/queue-measures.ts';
export { runsOf, simulate } from './report/simulate.ts';
export type { SimulationReport } from './report/simulate.ts';
export { standbyTable, type StandbyTable } from './report/standby-table.ts';
