export { fairOrder, type WaitingJob } from './admission/fair-order.ts';
export { FreeGpus } from './admission/free-gpus.ts';
export { Refusals } from './admission/refusals.ts';
export { isFenced } from './broken-gang.ts';
export type { Condemnation } from './checkpoint-trouble.ts';
export type { Decision, LiveRead, PodReference } from './decision.ts';
export { jobEvents } from './job-events.ts';
export { podName } from './names.ts';
export type {
  NodeCensus,
  NodeState,
  ObservedExit,
  ObservedPlanning,
  ObservedPod,
  ObservedProgress,
} from './observed.ts';
export type { Answer, Call, FailureCause } from './perform/calls.ts';
export type { JobEffects, JobView, VersionedCapacity } from './perform/job-view.ts';
export { reconcileJob, type ReconcileOutcome } from './perform/reconcile-job.ts';
export { PROGRESS_INTERVAL_MS } from './record-observation.ts';
export { isRecordedPlacement, placementSha256 } from './recorded-placement.ts';
export { Stopwatches } from './stopwatches.ts';
export { DEFAULT_TIMEOUTS } from './timeouts.ts';
export type { Timeouts } from './timeouts.ts';
