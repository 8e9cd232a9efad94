import type { FabricCapacity, FabricNode } from './fabric.ts';
import { byText } from './islands.ts';

/** A node, and how many of its GPUs a gang may take. */
export interface OpenNode {
  readonly node: FabricNode;
  readonly free: number;
}

/** What each node could give now: nothing where it takes no pods, or stands in reserve. Of each domain the roomiest nodes are the reserve. */
export function openNodes({ fabric, usedGpus, reservedNodesPerDomain = 0 }: FabricCapacity): readonly OpenNode[] {
  const open = fabric.nodes.map((node) => ({
    node,
    free: node.usable ? Math.max(0, node.gpus - (usedGpus.get(node.name) ?? 0)) : 0,
  }));
  if (reservedNodesPerDomain <= 0) return open;
  const reserved = new Set(
    [...Map.groupBy(open, ({ node }) => node.nvlinkDomain).values()]
      .filter((domain) => domain.length > 1)
      .flatMap((domain) =>
        domain
          .toSorted((left, right) => right.free - left.free || byText(left.node.name, right.node.name))
          .slice(0, reservedNodesPerDomain),
      ),
  );
  return open.map((one) => (reserved.has(one) ? { ...one, free: 0 } : one));
}

/** What a node could give, looked up by its name. */
export function freeGpusOf(open: readonly OpenNode[]): (node: FabricNode) => number {
  const free = new Map(open.map((one) => [one.node.name, one.free]));
  return ({ name }) => free.get(name) ?? 0;
}
