/** Goodput: where each GPU-second of a job went. */
export { costCsv, costRows, costSoFar, type HeldJob } from './cost-rows.ts';
export { type GpuTime, gpuTimeOf } from './gpu-time.ts';
export { heldInMonth, monthOf, type Period } from './held-within.ts';
export { jobGoodput } from './job-goodput.ts';
export { finishedRestart, newestRestart } from './newest-restart.ts';
export { msPerSave, saveCostOf, totalSaveCost } from './save-cost.ts';
export { newSaveStops } from './save-stops.ts';
export { type RecordedJob, recordedHistory, runKey } from './recorded-history.ts';
