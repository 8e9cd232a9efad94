export { CAPABILITIES, type Change } from './capabilities.ts';
export { aDraft, specOf } from './job-draft.ts';
export { brokenJobs, capableJobs, type JudgedJob, judgedSpec, soundJobs } from './random-jobs.ts';
export { megatronRelease, type MegatronRelease } from '../releases.ts';
