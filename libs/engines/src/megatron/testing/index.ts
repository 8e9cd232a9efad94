export { all, CAPABILITIES, type Change, degrees, experts, over } from './capabilities.ts';
export { aDraft, specOf } from './job-draft.ts';
export { beside, changesOf, release, setting } from './megatron-changes.ts';
export { brokenJobs, capableJobs, type JudgedJob, judgedSpec, soundJobs } from './random-jobs.ts';
export { megatronRelease, type MegatronRelease } from '../releases.ts';
