export { ClusterMeasurement } from './cluster-measurement.ts';
export { fitProfile, PROFILE_SETTINGS, type FittedProfile, type JudgedProbe } from './fit-profile.ts';
export { profileOfJobs, type CalibratedEngine } from './profile-of-jobs.ts';
