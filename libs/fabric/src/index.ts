export type { Fabric, FabricCapacity, FabricNode, NodeFacts } from './fabric.ts';
export { UNLABELLED_ISLAND, fabricFromNodes } from './from-nodes.ts';
export { placeGang } from './placement.ts';
export type { GangRequest, PlacementOutcome } from './placement.ts';
