export { MAX_PLANNED_GPUS, MAX_WORLD_SIZE } from './degree.ts';
export { ParallelLayout, formatLayout, worldSize } from './parallel-layout.ts';
export type { RankAxis } from './parallel-layout.ts';
export { isWhole } from './whole-layout.ts';
export { FORMAT_OF_SHARDING } from './checkpoint-formats.ts';
export type { LayoutCheckpointFormat } from './checkpoint-formats.ts';
export { MAX_LISTED_STAGES } from './pipeline-plan.ts';
export { OffloadRule, RECOMPUTED_MODULES } from './memory-policy.ts';
export { MODEL_SIZES, ModelShape, withDefaultSizes } from './model-shape.ts';
export { coordinatesOfRank, groupsOfAxis } from './rank-map.ts';
export { engineNamed } from './engine-spellings.ts';
export { LAYOUT_ENGINES, NIC_KINDS } from './layout-facts.ts';
export type { LayoutEngine, LayoutFacts, NicKind } from './layout-facts.ts';
export { algorithmOf, servesSoftmax, softmaxOf } from './rules/context-algorithm-of.ts';
export { gridRules } from './rules/grid-rules.ts';
export { firstViolation, layoutFindings, layoutRules, layoutViolations } from './layout-rules.ts';
export type { LayoutViolation } from './layout-rules.ts';
export { DeviceMesh, JobLayout, LayoutDocument } from './layout-document.ts';
export type { RoleDocument } from './layout-document.ts';
export { brokenSchemaRule } from './broken-schema-rule.ts';
export { readLayout } from './read-layout.ts';
export { checkJobLayout, checkLayoutDocument } from './check-document.ts';
export type { DocumentFinding, ModelByName } from './check-document.ts';
export { resolveDocumentTokens, SequencePacking, whyNoPacking, WITH_PACKING } from './sequence-packing.ts';
export { adapterParametersOfLayer, LoraSpec, resolveLoraAlpha, resolveLoraTargets } from './lora-adapters.ts';
export type { LoraTarget } from './lora-adapters.ts';
export { divisorsOf } from './nearest.ts';
export { nearestWord } from './nearest-word.ts';
export { describeProblem, schemaProblems } from './schema-problems.ts';
export { ENGINE_CAPABILITIES } from './engine-capabilities.ts';
export { EngineOption } from './engine-option.ts';
export { engineSupport } from './engine-support.ts';
export {
  resolveDataOverlaps,
  resolveDispatcher,
  resolveGradientPrecision,
  resolveMomentPrecision,
  resolveOffloadedShare,
  resolveStateImplementation,
  resolveZeroStage,
} from './resolved-facts.ts';
export type { EngineOutcome } from './engine-support.ts';
export { rankTable } from './rank-table.ts';
export type { GridTable, RankTable } from './rank-table.ts';
