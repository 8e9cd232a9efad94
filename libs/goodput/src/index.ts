/** Goodput: where each GPU-second of a job went. */
export { type GpuTime, gpuTimeOf } from './gpu-time.ts';
export { jobGoodput } from './job-goodput.ts';
export { msPerSave, saveCostOf, totalSaveCost } from './save-cost.ts';
export { type RecordedJob, recordedHistory, runKey } from './recorded-history.ts';
