import type { FabricNode, NodeFacts } from '../nodes/fabric.ts';
import { fabricFromNodes } from '../nodes/from-nodes.ts';

export type Labels = Readonly<Record<string, string>>;

/** Of nodes n1, n2 and so on, of these labels or facts. */
export function fabricOf(...given: readonly (Labels | Partial<NodeFacts>)[]): readonly FabricNode[] {
  return fabricFromNodes(factsOf(...given)).nodes;
}

export function factsOf(...given: readonly (Labels | Partial<NodeFacts>)[]): readonly NodeFacts[] {
  return given.map((one, index) => aNode(`n${index + 1}`, one));
}

function aNode(name: string, given: Labels | Partial<NodeFacts>): NodeFacts {
  const facts = 'labels' in given || 'devices' in given || 'draDevices' in given ? given : { labels: given as Labels };
  return { name, labels: {}, gpuCapacity: 8, schedulable: true, ready: true, ...(facts as Partial<NodeFacts>) };
}

/** Labels of topograph 1.x, near to far. */
export function topograph(...values: readonly string[]): Labels {
  return Object.fromEntries(values.map((value, tier) => [`fabric.topograph.run/tier-${tier}`, value]));
}
