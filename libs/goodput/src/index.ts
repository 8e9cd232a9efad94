/** Goodput: where each GPU-second of a job went. */
export { jobGoodput } from './job-goodput.ts';
export { type RecordedJob, recordedHistory, runKey } from './recorded-history.ts';
