export { ClusterScheduler } from './cluster-scheduler.ts';
export type { SchedulerView } from './scheduler-view.ts';
export { forecastClusterInSteps, type ClusterForecast } from './forecast/cluster-forecast.ts';
export type { Constraint } from './forecast/constraint.ts';
export type { ForecastOfJob } from './forecast/forecast.ts';
export type { ForecastNode } from './forecast/forecast-input.ts';
export { atOnce, type InSteps } from './forecast/in-steps.ts';
export { smallestChangesInSteps, type TriedChange } from './forecast/smallest-changes.ts';
export { timeline, type TimelineEvent } from './forecast/timeline.ts';
export { type ClaimRules, DEFAULT_CLAIM_RULES } from './claims/claim-rules.ts';
export type { ChosenVictim, ClaimChoice, SmallerSize } from './claims/claim.ts';
export type { GangRequest, JobName, NodeQuestion, PlacementRefusal } from './gang-request.ts';
export {
  gpusOfQuota,
  type PodDemand,
  quotaObstacles,
  type QuotaObject,
  quotaSentence,
} from './capacity/quota-obstacles.ts';
export { servingsOf } from './order/in-order.ts';
export { type QueueFigures, queueFigures } from './order/queue-figures.ts';
export { isWaitingForCapacity, waitingSince } from './order/waiting-jobs.ts';
export { recordedClaim } from './reservations/recorded-claim.ts';
export { isRecordedPlacement, placementSha256 } from './reservations/recorded-placement.ts';
export { countedTime, heldByRunMs, heldMs } from './times/held-time.ts';
export { type StartError, startErrorBetween } from './times/start-error.ts';
export { meanStepMs } from './times/step-time.ts';
export {
  DEFAULT_PRIORITY,
  defaultClass,
  podClassName,
  podClassOf,
  type PriorityClassFacts,
  priorityClassFacts,
  priorityOf,
} from './order/priority.ts';
export { isLongSearch } from './capacity/long-search.ts';
export { once } from './capacity/once.ts';
export type { NodePromise } from './promises/node-promise.ts';
export type { RightOfReturn } from './promises/rights-of-return.ts';
export { podShape } from './kueue/pod-shape.ts';
export { type JobQuota, jobQuota } from './kueue/job-quota.ts';
export { withNodeRules } from './kueue/flavours.ts';
export { flavourRules, jobUidOf, type NodeRules, readWorkload, type WorkloadFacts } from './kueue/workload-facts.ts';
export { decideQuota, type QueuedJob, type QuotaDecision, type QuotaWrite } from './kueue/decide-quota.ts';
export { type QuotaAsked, goneJob, queuedJob, queueNameOf } from './kueue/queued-job.ts';
export { KUEUE_API, KUEUE_LABELS, PLACEMENT_CHECK_CONTROLLER, WORKLOAD_FINALIZER } from './kueue/kueue-names.ts';
export { decideSlice, type JobWorkloads, pickWorkloads } from './kueue/decide-growth.ts';
export { freeQuota, type FreeQuota } from './kueue/free-quota.ts';
export {
  changePatch,
  fewerPodsPatch,
  holdPatch,
  sliceManifest,
  workloadManifest,
  workloadNames,
  type WorkloadPriority,
} from './kueue/workload-manifest.ts';
export { answerPatch, finishPatch, podsReadyPatch, releasePatch } from './kueue/workload-patches.ts';
export { growthQuestion, changeCostSeconds, medianReturnSeconds, speedupBetween } from './sizes/size-facts.ts';
export {
  SIZE_RULES,
  type GrowthObstacle,
  growthObstacle,
  growthWaitMs,
  rulesFor,
  shrinkWaitMs,
} from './sizes/size-rules.ts';
