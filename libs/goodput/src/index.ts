/** Where did each GPU-second of a job go? */
export { jobGoodput } from './job-goodput.ts';
export { type RecordedJob, recordedHistory, runKey } from './recorded-history.ts';
