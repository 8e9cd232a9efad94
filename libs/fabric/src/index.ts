export type { Fabric, FabricCapacity, FabricNode, NodeFacts } from './fabric.ts';
export { fabricFromNodes } from './from-nodes.ts';
export { placeGang } from './placement.ts';
export type { PlacementOutcome } from './placement.ts';
