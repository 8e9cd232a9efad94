export { MAX_WORLD_SIZE } from './degree.ts';
export { LAYOUT_PRECISIONS, ParallelLayout, RANK_AXES, formatLayout, worldSize } from './parallel-layout.ts';
export type { RankAxis } from './parallel-layout.ts';
export { EXPERT_BALANCES, EXPERT_DISPATCHERS, ExpertLayout } from './expert-layout.ts';
export {
  MAX_LISTED_STAGES,
  PIPELINE_SCHEDULES,
  PipelinePlan,
  PipelineStage,
  VOCABULARY_PLACEMENTS,
} from './pipeline-plan.ts';
export { CAUSAL_BALANCES, CONTEXT_ALGORITHMS, SequencePlan } from './sequence-plan.ts';
export type { ContextAlgorithm } from './sequence-plan.ts';
export { OPTIMIZERS, STATE_IMPLEMENTATIONS, StateSharding } from './state-sharding.ts';
export { MemoryPolicy, OffloadRule, RECOMPUTED_MODULES } from './memory-policy.ts';
export { CommunicationPolicy } from './communication-policy.ts';
export { LayerOverride } from './layer-override.ts';
export { ModelShape } from './model-shape.ts';
export { coordinatesOfRank, groupsOfAxis, rankOfCoordinates } from './rank-map.ts';
export type { RankCoordinates } from './rank-map.ts';
export { axisOf, denseGrid, expertGrid, groupsOver, indexOnAxis } from './rank-grid.ts';
export type { GridAxis, RankGrid } from './rank-grid.ts';
export { LAYOUT_ENGINES } from './layout-facts.ts';
export type {
  DividedModel,
  LayoutEngine,
  LayoutFacts,
  NetworkIsland,
  NetworkKind,
  SavedState,
} from './layout-facts.ts';
export { gridPointOf, microBatchesOf } from './grid-point.ts';
export type { GridPoint } from './grid-point.ts';
export { gridRules, isLegalGrid } from './rules/grid-rules.ts';
export type { Explanation, GridRule } from './rules/grid-rule.ts';
export { layoutFindings, layoutRules, layoutViolations } from './layout-rules.ts';
export type { LayoutRule, LayoutViolation } from './layout-rules.ts';
export { DeviceMesh, JobLayout, LayoutDocument, OtherModel } from './layout-document.ts';
export type { RoleDocument } from './layout-document.ts';
export { brokenSchemaRule } from './broken-schema-rule.ts';
export { readLayout } from './read-layout.ts';
export type { DocumentProblem, ReadLayout } from './read-layout.ts';
export { checkJobLayout, checkLayoutDocument, factsOfRole } from './check-document.ts';
export type { DocumentFinding, ModelByName } from './check-document.ts';
export { nearestWord } from './nearest-word.ts';
export { ENGINE_CAPABILITIES } from './engine-capabilities.ts';
export type { EngineCapabilities } from './engine-capabilities.ts';
export { engineSupport } from './engine-support.ts';
export type { EngineOutcome, OptionRefusal } from './engine-support.ts';
export { rankTable } from './rank-table.ts';
export type { GridTable, RankTable } from './rank-table.ts';
