export { MAX_WORLD_SIZE, ParallelLayout, formatLayout, worldSize } from './parallel-layout.ts';
export { ModelShape } from './model-shape.ts';
export { coordinatesOfRank, groupsOfAxis, rankOfCoordinates } from './rank-map.ts';
export type { MeshAxis, RankCoordinates } from './rank-map.ts';
export { layoutViolations } from './layout-rules.ts';
export type { DividedModel, LayoutRule, LayoutViolation } from './layout-rules.ts';
