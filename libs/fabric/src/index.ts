export type { Fabric, FabricCapacity, FabricNode, NodeFacts } from './fabric.ts';
export { UNLABELLED_ISLAND, fabricFromNodes } from './from-nodes.ts';
export { placeGang } from './placement.ts';
export type { GangRequest } from './gang-shape.ts';
export type { PlacementOutcome } from './placement.ts';
