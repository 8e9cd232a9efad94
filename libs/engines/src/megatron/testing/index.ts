export { BROKEN_RULES } from './broken-rules.ts';
export { CAPABILITIES, type Change } from './capabilities.ts';
export { aDraft, specOf } from './job-draft.ts';
export { brokenJobs, type JudgedJob, soundJobs } from './random-jobs.ts';
