export { isBroken } from './broken-gang.ts';
export { decide } from './decide.ts';
export type { Action, Decision, PodReference } from './decision.ts';
export { jobEvents } from './job-events.ts';
export { podName } from './names.ts';
export type { NodeState, ObservedExit, ObservedPlanning, ObservedPod, ObservedProgress } from './observed.ts';
export { PROGRESS_INTERVAL_MS } from './record-observation.ts';
export { sameStatus } from './same-status.ts';
