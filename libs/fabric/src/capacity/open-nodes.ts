import type { FabricCapacity, FabricNode } from '../nodes/fabric.ts';
import { heldInReserve } from './reserve.ts';

/** A node, and how many of its GPUs a gang may take. */
export interface OpenNode {
  readonly node: FabricNode;
  readonly free: number;
}

/** What each node could give now: nothing where it takes no pods, or stands in reserve. */
export function openNodes(capacity: FabricCapacity): readonly OpenNode[] {
  const free = freeNodes(capacity);
  if (capacity.reserve === undefined) return free;
  const held = heldInReserve(free, capacity.reserve);
  return free.map((one) => (held.has(one) ? { ...one, free: 0 } : one));
}

/** Those that are in reserve, with what is free of them. */
export function nodesInReserve(capacity: FabricCapacity): ReadonlySet<OpenNode> {
  return heldInReserve(freeNodes(capacity), capacity.reserve);
}

function freeNodes({ fabric, usedGpus }: FabricCapacity): readonly OpenNode[] {
  return fabric.nodes.map((node) => ({
    node,
    free: node.usable ? Math.max(0, node.gpus - (usedGpus.get(node.name) ?? 0)) : 0,
  }));
}

/** The same with these nodes taken whole: every pod has a node of its own. */
export function withTaken(capacity: FabricCapacity, names: readonly string[]): FabricCapacity {
  const taken = new Set(names);
  const whole = capacity.fabric.nodes.filter(({ name }) => taken.has(name));
  if (whole.length === 0) return capacity;
  const usedGpus = new Map([...capacity.usedGpus, ...whole.map(({ name, gpus }) => [name, gpus] as const)]);
  return { ...capacity, usedGpus };
}

/** What a node could give, looked up by its name. */
export function freeGpusOf(open: readonly OpenNode[]): (node: FabricNode) => number {
  const free = new Map(open.map((one) => [one.node.name, one.free]));
  return ({ name }) => free.get(name) ?? 0;
}

/** Sum of the free GPUs of these nodes. */
export function gpusFreeOf(open: readonly OpenNode[]): number {
  return open.reduce((sum, { free }) => sum + free, 0);
}
