import type { FabricCapacity, FabricNode } from '../nodes/fabric.ts';

/** A usable node with 8 GPUs, alone in its NVLink domain, in island `ib`, below no switch that is known. */
export function aFabricNode(overrides: Partial<FabricNode> = {}): FabricNode {
  const name = overrides.name ?? 'node-0';
  return { name, gpus: 8, nvlinkDomain: `node:${name}`, island: 'ib', switches: [], usable: true, ...overrides };
}

/** Capacity of these nodes, with what is taken of them. */
export function aFabricCapacity(
  nodes: readonly FabricNode[],
  usedGpus: Readonly<Record<string, number>> = {},
): FabricCapacity {
  return { fabric: { nodes }, usedGpus: new Map(Object.entries(usedGpus)) };
}
