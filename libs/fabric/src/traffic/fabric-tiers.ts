/** Which boundary lies between two nodes? Names of domains, switches and islands as numbers, looked up once per fabric. */
import type { Fabric, FabricNode } from '../nodes/fabric.ts';
import { BOUNDARIES } from './traffic.ts';

/** Per node, by its index in the fabric, a number below the count of nodes that two nodes share exactly if they share what it stands for. */
export type ClassOfNode = Int32Array;

/** Class numbers of every node at each boundary of a fabric. */
export interface FabricTiers {
  readonly indexOfNode: ReadonlyMap<string, number>;
  readonly domainOf: ClassOfNode;
  /** Leaf, spine, core and island, and the nodes of one NVLink domain below each: what lies beyond an NVLink domain, near to far. */
  readonly beyond: readonly { readonly switchOf: ClassOfNode; readonly domainBelowOf: ClassOfNode }[];
}

/** Switches beyond the third tier count as core. */
const SWITCH_TIERS = 3;
/** Index of a boundary in BOUNDARIES. */
const GPU = BOUNDARIES.indexOf('gpu');
const NODE = BOUNDARIES.indexOf('node');
const DOMAIN = BOUNDARIES.indexOf('nvlinkDomain');

/** Of lists of nodes, which nobody changes: each placement that is weighed asks for those of its fabric. */
const known = new WeakMap<readonly FabricNode[], FabricTiers>();

/**
 * A tier of switches that no node of the fabric reports is crossed only between islands. If some nodes report it, a node that does not is taken to
 * be below a switch of its own, because no label says that it is near any other. It shares that switch with the nodes below the same farthest switch.
 */
export function tiersOf({ nodes }: Fabric): FabricTiers {
  const tiers = known.get(nodes) ?? lookUp(nodes);
  known.set(nodes, tiers);
  return tiers;
}

function lookUp(nodes: readonly FabricNode[]): FabricTiers {
  const mostTiers = nodes.reduce((most, { switches }) => Math.max(most, switches.length), 0);
  const below = Array.from({ length: SWITCH_TIERS }, (_, tier) => (node: FabricNode): string => {
    const known = tier < mostTiers ? (node.switches[tier] ?? `\n${node.switches.at(-1) ?? node.name}`) : '';
    return `${known}\n${node.island}`;
  });
  return {
    indexOfNode: new Map(nodes.map(({ name }, index) => [name, index])),
    domainOf: classesOf(nodes, ({ nvlinkDomain }) => nvlinkDomain),
    beyond: [...below, ({ island }: FabricNode) => island].map((nameOf) => ({
      switchOf: classesOf(nodes, nameOf),
      domainBelowOf: classesOf(nodes, (node) => `${node.nvlinkDomain}\n${nameOf(node)}`),
    })),
  };
}

function classesOf(nodes: readonly FabricNode[], nameOf: (node: FabricNode) => string): ClassOfNode {
  const indexes = new Map<string, number>();
  return Int32Array.from(nodes, (node) => {
    const name = nameOf(node);
    const index = indexes.get(name) ?? indexes.size;
    indexes.set(name, index);
    return index;
  });
}

/** Index in BOUNDARIES of the farthest one between ranks on two nodes. Members of one NVLink domain meet there, whatever switches they have. */
export function farthestBoundary({ domainOf, beyond }: FabricTiers, one: number, other: number): number {
  if (one === other) return GPU;
  if (domainOf[one] === domainOf[other]) return NODE;
  let tier = beyond.length;
  while (tier > 0 && beyond[tier - 1]?.switchOf[one] === beyond[tier - 1]?.switchOf[other]) tier--;
  return DOMAIN + tier;
}
