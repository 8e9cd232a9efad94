export { isBroken } from './broken-gang.ts';
export type { Decision, PodReference } from './decision.ts';
export { jobEvents } from './job-events.ts';
export { podName } from './names.ts';
export type { NodeState, ObservedExit, ObservedPlanning, ObservedPod, ObservedProgress } from './observed.ts';
export type { Answer, Call, FailureCause } from './perform/calls.ts';
export type { JobEffects, JobView } from './perform/job-view.ts';
export { reconcileJob, type ReconcileOutcome } from './perform/reconcile-job.ts';
export { PROGRESS_INTERVAL_MS } from './record-observation.ts';
