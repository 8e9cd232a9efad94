// A little over 400 lines: every name that other packages use.
export {
  ANNOTATIONS,
  API_GROUP,
  API_GROUP_VERSION,
  API_VERSION,
  SERVED_API_VERSIONS,
  CONTAINERS,
  FINALIZER,
  GPU_RESOURCE,
  LABELS,
  NODE_LABELS,
  NODE_MARKS,
  PUBLISHED_LABELS,
  POD_ENV,
  POD_FINALIZER,
  POD_PATHS,
  RANK_ENV,
  REPORT_TOKEN_AUDIENCE,
  SCHEDULING_GATE,
  DRAIN_REQUESTS,
} from './names.ts';
export { jobPrefix } from './child-names.ts';
export { gangName, gangOfPod, mayBePodOf, placementName, podName, podOfName } from './gang-names.ts';
export { versionProblem } from './kubernetes-version.ts';
export type { ServerVersion } from './kubernetes-version.ts';
export { CONDITION_REASONS, CONDITION_TYPES, Condition, findCondition, isFinished, isTrue } from './conditions.ts';
export type { ConditionType, ReasonOf } from './conditions.ts';
export { CRASH_BLAMES, CRASH_CLASSES, type CrashBlame, type CrashClass } from './crash-class.ts';
export {
  DEFAULT_CYCLES_WITHOUT_PROGRESS,
  type FailureBudget,
  type FailurePolicy,
  type FailureRule,
  MAX_BUDGET,
} from './failure-policy.ts';
export { END_BASES, type EndBasis, type ExpectedStart } from './expected-start.ts';
export { type FailureJudgement, FailureTally, GIVE_UPS } from './failure-record.ts';
export {
  JobStart,
  MAX_PAST_STARTS,
  MAX_QUEUE_EVENTS,
  MAX_QUEUE_JOBS,
  MAX_QUEUE_USES,
  type PastStart,
  PastStarts,
  Queue,
  type QueueConstraint,
  type QueueEvent,
  type QueueJob,
  type QueueJobName,
  type QueueStart,
  type QueueUse,
  type QueueWindow,
  type StartChange,
} from './queue.ts';
export type { OwnerReference } from './metadata.ts';
export { ATTEMPT_REASONS, type AttemptReason } from './attempt-reasons.ts';
export {
  Attempt,
  AttemptPrediction,
  EarlySave,
  LostWork,
  MAX_ATTEMPTS_IN_STATUS,
  MAX_ENDED_INCARNATIONS,
  MAX_SAVE_SUSPICIONS,
  MAX_STANDBYS,
  nameOfRun,
  MAX_HELD_CHANGES,
  startStepOf,
} from './attempt.ts';
export {
  hostMemoryPerGpu,
  type MemorySave,
  memorySaveBounds,
  MemorySaveBounds,
  memorySaveBytesPerGpu,
  memorySaveOf,
  nameOfMemorySave,
} from './memory-saves.ts';
export { MAX_SAVE_STOPS, PodMarks, RUN_MARKS, RunClock, type RunMark, type SaveStop } from './run-clock.ts';
export { formatRecommendedSaves, formatRestart, type JobSaveStop, type RecommendedSaves } from './goodput.ts';
export { type AttemptRestore, describeRestore, MAX_NOT_KEPT, MAX_NOT_KEPT_CHARACTERS } from './attempt-restore.ts';
export { DisruptionNoticeRule, MAX_NOTICE_RULES } from './disruption-notice.ts';
export { AVOIDED_NODE_REASONS, AvoidedNode, MAX_AVOIDED_NODES } from './avoided-node.ts';
export type { AvoidedNodeReason } from './avoided-node.ts';
export { FABRIC_NAME, FabricSpec, FabricStatus, WINDOW_HELD_SECONDS } from './fabric-resource.ts';
export type { FabricOverride, FabricResource, FabricWindow } from './fabric-resource.ts';
export {
  GOODPUT_CATEGORIES,
  type GoodputCategory,
  GoodputMonth,
  GoodputSpan,
  goodputWords,
  JobGoodput,
  JobRecovery,
  MAX_GOODPUT_SPANS,
  MAX_JOB_SAVE_STOPS,
  MAX_RECOVERIES,
  RESTART_PHASES,
  type RestartPhase,
  type RestartPhaseTime,
  type RestartPhaseTotal,
} from './goodput.ts';
export {
  Incident,
  INCIDENT_ACTIONS,
  INCIDENT_KINDS,
  INCIDENT_OUTCOMES,
  type IncidentAction,
  type IncidentEvidence,
  type IncidentKind,
  IncidentList,
  type IncidentOutcome,
  incidentSubject,
  incidentWords,
  JobIncident,
  MAX_INCIDENT_EVIDENCE,
  MAX_INCIDENT_OPERATIONS,
  MAX_INCIDENT_RANKS,
  MAX_INCIDENTS_IN_STATUS,
  operationWords,
  type RankOperation,
} from './incident.ts';
export { CLAIM_ENDS, ClaimVictim, ForClaim, JobClaim, MAX_CLAIM_VICTIMS } from './job-claim.ts';
export type { ClaimEnd, WayOut } from './job-claim.ts';
export { JobPlan } from './job-plan.ts';
export {
  JobStacks,
  MAX_FRAME_CHARACTERS,
  MAX_STACK_FRAMES,
  MAX_STACKS_OF_POD,
  MAX_THREAD_NAME_CHARACTERS,
  PodStacks,
  RANK_SILENCES,
  type RankSilence,
  SilentRanks,
  silenceWords,
  stackHolders,
  StackGroup,
  STACKS_WITHIN_MS,
  ThreadStack,
} from './stacks.ts';
export {
  OBSERVE_ANNOTATIONS,
  OBSERVE_CONFIG_MAP,
  OBSERVE_LABEL,
  OBSERVE_PATH,
  OBSERVE_TOKEN_AUDIENCE,
  OBSERVED_JOBS_PATH,
  OBSERVED_KINDS,
  OBSERVED_PHASES,
  OBSERVED_POD,
  ObservedJob,
  ObservedJobs,
  ObserverReply,
  ObserverReport,
} from './observed-job.ts';
export { JOB_STATES, JobState, TrainingJobStatus } from './training-job.ts';
export { isSystemPriorityClass, ObjectName, PriorityClassName } from './field-names.ts';
export { describeSecrets, placeOf, SECRET_PREFIX } from './secret-references.ts';
export type { SecretFile, SecretVariable } from './secret-references.ts';
export { plainSecrets } from './plain-secrets.ts';
export { isWholeRampUp, samplesOfSteps } from './batch-ramp-up.ts';
export { stepsOf } from './training-spec.ts';
export { paceAfter, type StepPace } from './step-pace.ts';
export type { ScratchSpec } from './scratch-spec.ts';
export { CODE_LIMITS, CODE_MEDIA_TYPE, CodeArchive, CodeDigest, codePathOf, CodeSpec } from './code-spec.ts';
export { HARMLESS_FILES, LIKELY_SECRETS, UNNEEDED_FOLDERS, WITHHELD_FILES } from './shipped-files.ts';
export { type CodeBucket, codeBucketOf, CodeBucketVariables } from './code-bucket.ts';
export type { ModelSpec } from './model-spec.ts';
export { TrainingJobSpec } from './training-job-spec.ts';
export type { EndedIncarnation, PassedOverCheckpoint, PodReplacement } from './attempt.ts';
export type { TrainingJob } from './training-job.ts';
export type { TrainingJobSpecInput } from './training-job-spec.ts';
export {
  BucketAccess,
  bucketVariables,
  CheckpointBucket,
  type CheckpointLocation,
  describeLocation,
  formatPlace,
  recordedLocation,
} from './checkpoint-location.ts';
export { fillLogLink, LogLink } from './log-link.ts';
export { CostList, CostRow, JobCost, OTHER_GPUS, PriceList } from './costs.ts';
export { fillJobLink, JobLink, JobLinks } from './job-links.ts';
export { KeptLogBounds } from './kept-log-bounds.ts';
export { KEPT_LOGS_PATH, KeptLogsAnswer, KeptLogsPod, KeptLogsQuestion, READ_LOGS } from './kept-logs.ts';
export {
  CheckpointResourceSpec,
  CheckpointResourceStatus,
  CheckpointSuspicion,
  isAdopted,
  MAX_EVIDENCE,
  MAX_PASSED_OVER,
  MAX_REREAD_FILES,
  MAX_UNRECORDED_CHECKPOINTS,
  NO_MANIFEST,
  UnrecordedCheckpoint,
} from './checkpoint.ts';
export {
  ClusterFabric,
  type FabricHardware,
  type FabricJob,
  type FabricPlace,
  MAX_FABRIC_JOBS,
} from './cluster-fabric.ts';
export { GpuCounts } from './cluster-fabric.ts';
export {
  FabricChange,
  FabricChanges,
  FabricFactChange,
  FabricSnapshot,
  FabricSnapshotList,
  RecordedFabric,
  RecordedFabricNodes,
} from './fabric-history.ts';
export type { Checkpoint } from './checkpoint.ts';
export type { JobConversion } from './checkpoint-conversion.ts';
export { CheckpointAdopt, type CheckpointAdoptInput } from './checkpoint-adoption.ts';
export { CheckpointRetention, RetentionPolicy } from './retention-policy.ts';
export { CheckpointProgress, type SavedProgress } from './checkpoint-progress.ts';
export {
  ConversionAnswer,
  ConversionOrder,
  CONVERT_CHECKPOINT,
  DELETE_CHECKPOINT,
  DeletionAnswer,
  DeletionQuestion,
  INSPECT_CHECKPOINT,
  WorkerAnswer,
  WorkerQuestion,
} from './checkpoint-worker.ts';
export {
  CheckpointContents,
  CheckpointFileList,
  CheckpointVerification,
  MAX_CONTENT_NAME_CHARACTERS,
  MAX_DEGREES,
  MAX_DTYPES,
  MAX_FINDING_CHARACTERS,
  MAX_FINDINGS,
  MAX_GROUP_DIMS,
  MAX_GROUP_NAME_CHARACTERS,
  MAX_TENSOR_GROUPS,
  MAX_TENSOR_GROUPS_BYTES,
  OTHER_TENSORS,
  TensorGroup,
  VERIFICATION_LEVELS,
  type VerificationLevel,
} from './checkpoint-contents.ts';
export { CheckpointFault, describeFault, MAX_FAULTS_OF_ATTEMPT } from './checkpoint-fault.ts';
export type { CheckpointEvidence, CheckpointFaultOnNode } from './checkpoint-fault.ts';
export { isSameRequest, ResumeFrom, SCRATCH } from './resume-from.ts';
export {
  AttemptPreflight,
  DEFAULT_PREFLIGHT,
  Fingerprint,
  MAX_PREFLIGHT_NOTES,
  PairMeasurement,
  PREFLIGHT_LEVELS,
  PreflightFacts,
  PreflightReport,
} from './preflight.ts';
export type { PreflightLevel } from './preflight.ts';
export { AttemptTrained, MAX_TRAINED_DIFFERENCES, TrainedFacts } from './trained-facts.ts';
export {
  gpusOfPod,
  hasRanks,
  memberCount,
  PlacementSpec,
  ranksOfPod,
  ranksProblem,
  seatedPlacement,
  seatOf,
} from './placement.ts';
export { referencesIn, replaceReferences } from './rank-references.ts';
export { LAUNCHER_RANK_ENV, TORCH_RANK_ENV } from './rank-variables.ts';
export {
  ENGINE_CHECKPOINTS,
  EngineRun,
  MAX_ENGINE_FILE_LENGTH,
  MAX_ENGINE_RUN_BYTES,
  RANK_STARTERS,
  type SavedBy,
} from './engine-run.ts';
export { argvLines } from './argv-lines.ts';
export { partsOfSourced, sourcedCommand } from './sourced-command.ts';
export { EngineRendering, JobRendering, RenderingRequest } from './engine-rendering.ts';
export { Engine, EngineList } from './engine-facts.ts';
export { ENGINES_WITH_RECIPES, ENGINES_WITHOUT_PROGRAM } from './engine-spec.ts';
export { ENGINE_NAMES, ENGINE_RELEASES } from './engine-names.ts';
export type { EngineName } from './engine-names.ts';
export { formatRanks, parseRanks, rankIsIn } from './rank-ranges.ts';
export { RecordedPlaces } from './recorded-places.ts';
export type { RecordedPlace } from './recorded-places.ts';
export { MAX_RANKS_PER_POD } from './pod-size.ts';
export { RankTiming, RankTimings } from './rank-timings.ts';
export { ProcessGroup, RankCollectives, RankWatermark, RankWatermarks } from './rank-watermarks.ts';
export {
  ClusterTrainingRuntimeSpec,
  type JobBounds,
  type NicEnvironment,
  runtimeName,
  RuntimeRef,
  RuntimeSnapshot,
  TrainingRuntimeSpec,
} from './training-runtime.ts';
export type { RuntimeKind, TrainingRuntime } from './training-runtime.ts';
export {
  DEFAULT_MICRO_BATCH_SIZE,
  effectiveLayout,
  effectiveSpec,
  gpuCount,
  isPlanOf,
  isSameLayout,
  specOfEpoch,
} from './effective-spec.ts';
export type { EffectiveSpec } from './effective-spec.ts';
export type { Placement } from './placement.ts';
export { EXIT_CODES, exitKindOf, howItEnded } from './exit-codes.ts';
export {
  describeUnusable,
  type ObjectReference,
  type ReferencedKind,
  type ReferenceProblem,
  referencesOf,
  type ReadReferences,
  type UnusableReference,
} from './missing-object.ts';
export { isConsequence, LOST_PEER_PHRASES, lostItsPeer } from './lost-peer.ts';
export { HINDRANCE_BEGINS } from './hindrance.ts';
export { leftBehindIn, leftBehindMark } from './left-behind.ts';
export { isProgressMark, progressMark } from './progress-mark.ts';
export type { ExitKind } from './exit-codes.ts';
export {
  LauncherMessage,
  RankProcess,
  MAX_REPORT_BYTES,
  MAX_STEPS_PER_FRAME,
  MAX_TERMINATION_MESSAGE_BYTES,
  OperatorMessage,
  RankAssignment,
  EARLIER_REPORT_PATH,
  LISTENED_PARTS,
  LISTENS_TO_CONTENTS,
  LISTENS_TO_BACKGROUND_SAVES,
  LISTENS_TO_BROKEN_SAVES,
  LISTENS_TO_MARKS,
  LISTENS_TO_MEMORY_SAVES,
  LISTENS_TO_PROGRESS,
  LISTENS_TO_NOT_FINITE,
  LISTENS_TO_STOP,
  LISTENS_TO_COLLECTIVES,
  LISTENS_TO_PROCESSES,
  LISTENS_TO_WATERMARKS,
  MAX_BROKEN_SAVES,
  MAX_GROUPS_PER_HEARTBEAT,
  NotFinite,
  REPLICA_URL_HEADER,
  REPORT_PATH,
  UNREACHABLE_LEADER_HEADER,
  SERIES_PATH,
  SeriesFrame,
  StepFrame,
  StopFacts,
  TerminationCause,
  STACKS_PATH,
} from './report-protocol.ts';
export type { BrokenSave, LauncherState, SavedCheckpoint, StepReport } from './report-protocol.ts';
export {
  ApiToken,
  ApiTokenCreate,
  ApiTokenCreated,
  type ApiTokenCreateInput,
  ApiTokenList,
  ApiTokenRotate,
  type ApiTokenRotateInput,
  DEFAULT_OVERLAP_SECONDS,
} from './api-token.ts';
export {
  PERSON_REASONS,
  Webhook,
  WEBHOOK_EVENTS,
  type WebhookForm,
  WEBHOOK_TEST,
  WebhookCreate,
  WebhookCreated,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookList,
  WebhookMessage,
  WebhookRotate,
  type WebhookCreateInput,
  type WebhookEvent,
  type WebhookRotateInput,
} from './webhook.ts';
export { AuditEntry, AuditList } from './audit.ts';
export {
  CheckpointDetail,
  type CheckpointUses,
  MAX_LISTED_USES,
  type CheckpointLoads,
  CheckpointPage,
  CheckpointPin,
  CheckpointVerify,
  CheckpointVerifyRequest,
  MAX_PIN_CHARACTERS,
} from './checkpoint-catalogue.ts';
export {
  AccuracyFigures,
  AccuracyGroup,
  ApplyFailure,
  CheckpointList,
  CheckpointRecord,
  FINAL_JOB_STATES,
  Job,
  JobCheck,
  JobObstacle,
  JobPlanPreview,
  JobCreate,
  JobEvent,
  JobEventList,
  JOB_DETAILS,
  type JobDetail,
  JobList,
  JOB_ORDERS,
  type JobOrder,
  JobPatch,
  JobSummary,
  JobResume,
  LayoutCreate,
  LayoutList,
  MeasuredPrediction,
  PlanAccuracy,
  PlanList,
  PlanSummary,
  Problem,
  Project,
  PROJECT_LIMITS,
  ProjectCreate,
  ProjectLimit,
  ProjectLimitList,
  ProjectList,
  ProjectPatch,
  RankMap,
  RankPlace,
  type RankNode,
  type RankTraffic,
  StepList,
  StepBucket,
  StepPoint,
  StepTime,
  StoredLayout,
  StoredPlan,
} from './rest.ts';
export { type PrincipalKind, PROJECT_ROLES, type ProjectRole, type Role, ROLES, WhoAmI } from './who-am-i.ts';
export { JobLabelChange, labelKeyProblem, labelValueProblem, MAX_LABELS } from './labels.ts';
export {
  API_EVENTS,
  type ApiEvent,
  JOB_EVENTS,
  type JobEventType,
  OPERATOR_EVENTS,
  type OperatorEvent,
} from './job-event-types.ts';
export { formatApplyFailure } from './format-apply-failure.ts';
export {
  FailureOrigin,
  formatAnswer,
  formatExit,
  formatFailureLine,
  formatPlaceOfFailure,
  JobFailure,
  MAX_CAUSE_LINE_CHARACTERS,
  MAX_CAUSE_LINES,
} from './job-failure.ts';
export type { JobCreateInput } from './rest.ts';
export {
  COMMAND_LINE_SESSION_HOURS,
  GROUP_KINDS,
  type GroupKind,
  GroupRole,
  GroupRoleCreate,
  type GroupRoleCreateInput,
  GroupRoleList,
  SignInMethods,
  SignInToken,
  SignInTrade,
} from './sign-in.ts';
export { StartVerdict, whyNotTraining } from './start-verdict.ts';
export { type StateTone, toneOfState } from './state-tone.ts';
export { misspeltManifestFields, requestOfManifest } from './job-manifest.ts';
