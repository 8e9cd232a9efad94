export { acrossIslandsOf } from './across-islands.ts';
export { deviceCount, isDevice } from './device-count.ts';
export type { Fabric, FabricCapacity, FabricNode, NodeFacts, Taint } from './fabric.ts';
export { fabricFromNodes } from './from-nodes.ts';
export type { AcrossIslands } from './gang-shape.ts';
export { isSchedulable, nodesFor } from './node-demand.ts';
export type { NodeDemand } from './node-demand.ts';
export { placeGang } from './placement.ts';
export type { PlacementOutcome } from './placement.ts';
