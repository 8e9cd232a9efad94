export type { ClaimOnJob } from './observation/claims.ts';
export { canSaveOnRequest } from './disruption/save-on-request.ts';
export { smallerSizes } from './epoch/smaller-sizes.ts';
export { EndArbiter } from './arbiter/end-arbiter.ts';
export { newTroubles } from './record/new-troubles.ts';
export { newestFailure } from './failure/newest-failure.ts';
export { countEnds } from './arbiter/recorded-ends.ts';
export { isFenced } from './failure/broken-gang.ts';
export type { Condemnation } from './failure/checkpoint-standing.ts';
export { isBeyondTraining } from './failure/unreported-checkpoints.ts';
export type { Decision, LiveRead, PodReference } from './decide/decision.ts';
export { canMove } from './disruption/leaving-nodes.ts';
export {
  answerDrain,
  drainNotices,
  type DrainRequest,
  drainRequestOf,
  type PodOnNode,
} from './notices/drain-requests.ts';
export { NOTICE_RULES } from './notices/notice-rules.ts';
export { comingNotice, dueNotice, type NodeNotice, noticesOfNode, windowNotices } from './notices/node-notices.ts';
export { SAVE_AHEAD_MS } from './disruption/suspicions.ts';
export { jobEvents } from './decide/job-events.ts';
export { assignmentOf, verifyWantedOf } from './launchers/assignment.ts';
export { isPauseOver, launcherOrders, membersOf } from './launchers/launcher-orders.ts';
export type { LauncherOrder, PlacedLauncher } from './launchers/launcher-orders.ts';
export { saveOrder } from './launchers/save-order.ts';
export type {
  Finding,
  ObservedStanding,
  NodeCensus,
  NodeState,
  ObservedExit,
  ObservedNodeRequest,
  ObservedNodeSearch,
  ObservedPlanning,
  ObservedPod,
  ObservedPreflight,
  ObservedTrained,
  ObservedProgress,
  ObservedRuntime,
  Verdict,
  RuntimeAnswer,
} from './observation/observed.ts';
export type { ObservedLauncher } from './observation/observed-launcher.ts';
export type { ObservedMarks } from './observation/observed-marks.ts';
export type { Hearing } from './observation/hearing.ts';
export type { Answer, Call, FailureCause } from './perform/calls.ts';
export type { JobEffects, JobView, NodeSearches } from './perform/job-view.ts';
export { reconcileJob, type ReconcileOutcome } from './perform/reconcile-job.ts';
export { describeRuntimeProblem } from './epoch/runtime-standing.ts';
export { PROGRESS_INTERVAL_MS } from './epoch/record-observation.ts';
export {
  isStillDue,
  type JudgedNode,
  judgeQuarantine,
  QUARANTINE_MODES,
  QUARANTINE_TAINT,
  type QuarantineAction,
  type QuarantineMode,
  type Witness,
} from './quarantine/quarantine.ts';
export { adoptedFor, namedCheckpoints } from './observation/adopted-checkpoints.ts';
export { DEFAULT_RETENTION, type Retention } from './observation/retention.ts';
export { progressOf } from './record/checkpoint-progress.ts';
export { withReadableStatus } from './record/readable-status.ts';
export { PodWarnings } from './observation/pod-warnings.ts';
export { ReferenceReads } from './observation/references.ts';
export { RefusedCalls } from './observation/refused-calls.ts';
export { RefusedCheckpoints } from './observation/refused-checkpoints.ts';
export { PodQuotas } from './observation/pod-quotas.ts';
export { UnwrittenStatuses } from './observation/unwritten-statuses.ts';
export { Stopwatches } from './observation/stopwatches.ts';
export { DEFAULT_TIMEOUTS } from './observation/timeouts.ts';
export type { Timeouts } from './observation/timeouts.ts';
export { backgroundLevel, backgroundVerifications } from './verification/background-verifications.ts';
export { verificationsInTurn } from './verification/verification-turns.ts';
export { wantedVerifications, type WantedVerification } from './verification/wanted-verifications.ts';
export { doesClear, isFoundAgain, withUndone, withVerdict } from './verification/record-verification.ts';
export { planRetention, type RetentionOf, survivorsOf } from './retention/plan-retention.ts';
export {
  withAbsence,
  withDecision,
  withDeletionOrdered,
  withDeletionProblem,
  withDeletionStarted,
  withDeletionTakenBack,
  withoutDecision,
} from './retention/record-deletion.ts';
export { otherUsesOf, type RetentionView, usesOf } from './retention/uses.ts';
export { isConvertedFrom } from './conversion/converted-save.ts';
export {
  conversionStep,
  type ConversionStep,
  isWantedBy,
  withAnswer,
  withDropped,
  withHindrance,
  withOrdered,
  withoutAnswer,
} from './conversion/conversion-steps.ts';
export { bestSaves } from './epoch/save-interval.ts';
