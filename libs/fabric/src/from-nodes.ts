import type { Fabric, NodeFacts } from './fabric.ts';

/** The fabric that the nodes' labels describe. */
export function fabricFromNodes(nodes: readonly NodeFacts[]): Fabric {
  void nodes;
  return { nodes: [] };
}
