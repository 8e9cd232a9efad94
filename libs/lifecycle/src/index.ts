export { isBroken } from './broken-gang.ts';
export { decide } from './decide.ts';
export type { Action, Decision, PodReference } from './decision.ts';
export { JOB_EVENT_TYPES, jobEvents } from './job-events.ts';
export type { DerivedJobEvent, JobEventType, JobResources } from './job-events.ts';
export { placementName, podName } from './names.ts';
export type { NodeState, Observed, ObservedExit, ObservedPlanning, ObservedPod, ObservedProgress } from './observed.ts';
export { sameStatus } from './same-status.ts';
