export { NIC_KINDS } from '@coxswain/layout';
export type { NicKind } from '@coxswain/layout';
export { PRECISIONS, RANK_ORDERS, SCHEDULES } from './facts.ts';
export type {
  ClusterFacts,
  GpuFacts,
  CandidateLayout,
  AlsoIn8Bits,
  KeptInBf16,
  GraphedPart,
  Precision,
  RankOrder,
  RecomputeModule,
  RunFacts,
  Schedule,
  StagePart,
} from './facts.ts';
export {
  AskedLayout,
  CONTEXT_ALGORITHMS,
  OBJECTIVES,
  PARTITIONS,
  Plan,
  PlanAnswer,
  PlanCluster,
  PlanIsland,
  PlanRequest,
  Prediction,
  RECOMPUTE_POLICIES,
  ZERO_STAGES,
  StageMemory,
  TimePart,
  WhyNotAnswer,
} from './contract.ts';
export type { AllowedChoices, MemoryVerdict, PinnedAxes, PlanRequestInput } from './contract.ts';
export { ClusterProfile } from './cluster-profile.ts';
export { newScheduleScratch } from './schedule/schedule-scratch.ts';
export { timelineOf } from './schedule/simulate.ts';
export type { PassKind, TimedPass } from './schedule/simulate.ts';
export type { ScheduleInput } from './schedule/schedule-input.ts';
export { parametersOf } from './memory/parameters.ts';
export { predictMemory } from './memory/predict-memory.ts';
export type { MemoryPrediction } from './memory/predict-memory.ts';
export { precisionOf } from './request/gpu-formats.ts';
export { assumedEngineOf } from './request/assumed-engine.ts';
export { parsePlanRequest } from './request/parse-plan-request.ts';
export { pipelineOfPlan } from './questions/pipeline-of-plan.ts';
export { plan } from './questions/plan.ts';
export { exchangesOf, predict } from './questions/predict.ts';
export { pricedFacts } from './answer/priced-facts.ts';
export type { PricedFacts } from './answer/priced-facts.ts';
export type { ExchangingGroup } from './answer/exchanges-of-run.ts';
export { recomputationsOf } from './answer/layout-for-engine.ts';
export { whyNot } from './questions/why-not.ts';
export { PLANNER_VERSION } from './version.ts';
