export { microBatches, NIC_KINDS, PRECISIONS, RANK_ORDERS, RECOMPUTE_MODULES, SCHEDULES } from './facts.ts';
export type {
  ClusterFacts,
  GpuFacts,
  LayoutPoint,
  NicKind,
  Precision,
  RankOrder,
  RecomputeModule,
  RunFacts,
  Schedule,
  StagePart,
} from './facts.ts';
export {
  AllowedChoices,
  AskedLayout,
  ClosestPlan,
  CONTEXT_ALGORITHMS,
  MEMORY_VERDICTS,
  MemoryPart,
  OBJECTIVES,
  PARTITIONS,
  PinnedAxes,
  Plan,
  PlanAnswer,
  PlanCluster,
  PlanIsland,
  PlanRequest,
  Prediction,
  PredictionError,
  RECOMPUTE_POLICIES,
  RuledOut,
  SearchCounts,
  StageMemory,
  TimePart,
  WHY_NOT_VERDICTS,
  WhyNotAnswer,
  ZERO_STAGES,
} from './contract.ts';
export type { MemoryVerdict, Objective, Partition, PlanRequestInput, RecomputePolicy } from './contract.ts';
export { newScheduleScratch, type ScheduleScratch } from './schedule/schedule-scratch.ts';
export { peakInFlight } from './schedule/in-flight.ts';
export { makespanLowerBound } from './schedule/makespan-bound.ts';
export { makespanOf } from './schedule/makespan.ts';
export { newPlanCache, type PlanCache } from './schedule/pass-plan.ts';
export { orderOfPasses, simulateSchedule, timelineOf } from './schedule/simulate.ts';
export type { PassKind, ScheduledPass, ScheduleRun, TimedPass } from './schedule/simulate.ts';
export type { ScheduleInput, ScheduleShape } from './schedule/schedule-input.ts';
export { withInterlacedVocabulary, withShardedVocabulary, type VocabularyWork } from './schedule/vocabulary-passes.ts';
export { parametersOf } from './memory/parameters.ts';
export type { FeedForwardKind, LayerKind, LayerParameters, MixerKind, ModelParameters } from './memory/parameters.ts';
export { deviceUsedBytesOf, verdictOf } from './memory/memory-verdict.ts';
export { peakAllocatedBytesOf, predictMemory } from './memory/predict-memory.ts';
export type { MemoryOptions, MemoryPrediction } from './memory/predict-memory.ts';
export type { RankMemory } from './memory/rank-memory.ts';
export { isVShaped, rankOfStage, stagePartsOf } from './stages.ts';
export { layoutOfPoint, pointOfLayout } from './request/layout-conversion.ts';
export { parsePlanRequest } from './request/parse-plan-request.ts';
export { pipelineOfPlan } from './questions/pipeline-of-plan.ts';
export { plan } from './questions/plan.ts';
export { predict } from './questions/predict.ts';
export { whyNot } from './questions/why-not.ts';
export { PLANNER_VERSION } from './version.ts';
