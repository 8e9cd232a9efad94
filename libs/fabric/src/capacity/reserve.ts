/** Which nodes are kept free for gangs whose nodes fail, and who may have them? */
import { FABRIC_NAME } from '@coxswain/api-types';
import type { FabricCapacity, FabricNode, Reserve } from '../nodes/fabric.ts';
import { byText } from './islands.ts';

/** A node, and how many of its GPUs are free. */
interface FreeNode {
  readonly node: FabricNode;
  readonly free: number;
}

/**
 * The nodes with most room of each NVLink domain, then of each island as many more as it lacks. There it takes nodes whose domain and leaf have
 * fewest other free nodes, because a whole rack is worth more than a broken one. A domain or island with no more nodes than its reserve keeps none:
 * no job could use it.
 */
export function heldInReserve<Node extends FreeNode>(
  nodes: readonly Node[],
  { nodesPerNvlinkDomain = 0, nodesPerIsland = 0 }: Reserve = {},
): ReadonlySet<Node> {
  const held = new Set<Node>();
  if (nodesPerNvlinkDomain > 0) {
    const byRoom = (one: Node, other: Node): number => roomiestFirst(one, other);
    for (const domain of Map.groupBy(nodes, ({ node }) => node.nvlinkDomain).values()) {
      if (domain.length <= nodesPerNvlinkDomain) continue;
      for (const one of domain.toSorted(byRoom).slice(0, nodesPerNvlinkDomain)) held.add(one);
    }
  }
  if (nodesPerIsland > 0) {
    const beside = freeBeside(nodes);
    // A spare of other GPUs is none.
    const islands = Map.groupBy(nodes, ({ node }) => JSON.stringify([node.island, node.gpuType ?? null]));
    for (const island of islands.values()) {
      if (island.length <= nodesPerIsland) continue;
      const lacks = nodesPerIsland - island.filter((one) => held.has(one) && one.free > 0).length;
      const rest = island.filter((one) => !held.has(one));
      const inOrder = rest.toSorted(
        (one, other) => other.free - one.free || beside(one) - beside(other) || byName(one, other),
      );
      for (const one of inOrder.slice(0, Math.max(0, lacks))) held.add(one);
    }
  }
  return held;
}

function roomiestFirst(one: FreeNode, other: FreeNode): number {
  return other.free - one.free || byName(one, other);
}

function byName({ node: one }: FreeNode, { node: other }: FreeNode): number {
  return byText(one.name, other.name);
}

/** Free nodes in the same domain and below the same leaf. */
function freeBeside(nodes: readonly FreeNode[]): (one: FreeNode) => number {
  const keyOf = ({ node: { nvlinkDomain, switches, island } }: FreeNode): string =>
    switches.length === 0 ? `${island}\n${nvlinkDomain}` : `${island}\n${switches.join('\n')}`;
  const counts = new Map<string, number>();
  for (const one of nodes) if (one.free > 0) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1);
  return (one) => counts.get(keyOf(one)) ?? 0;
}

/** The same with nothing in reserve. */
export function withoutReserve({ reserve: _, ...capacity }: FabricCapacity): FabricCapacity {
  return capacity;
}

/**
 * The nodes that replacements of a gang's pods may use. They include the reserve if the gang lost nodes and no other job has taken one of its
 * places, as happens while it is suspended. The reserve is for failures, not for jobs that resume.
 */
export function capacityToReplace(
  capacity: FabricCapacity,
  { nodes, ranksPerPod }: { readonly nodes: readonly string[]; readonly ranksPerPod: number },
): FabricCapacity {
  if (capacity.reserve === undefined) return capacity;
  const byName = new Map(capacity.fabric.nodes.map((node) => [node.name, node]));
  const usable = nodes.flatMap((name) => {
    const node = byName.get(name);
    return node?.usable === true ? [node] : [];
  });
  const isLeft = usable.every(
    ({ name, gpus }) => gpus - (capacity.usedGpus.get(name) ?? 0) >= Math.min(gpus, ranksPerPod),
  );
  return usable.length < nodes.length && isLeft ? withoutReserve(capacity) : capacity;
}

/** Where it is stated. */
const STATED = `Fabric ${FABRIC_NAME}, spec.reserve`;

/** A sentence of the nodes that would have been enough, or would not; empty where none is held that has so many GPUs free. */
export function reserveSentence(
  held: ReadonlySet<FreeNode>,
  { ranksPerPod, isEnough }: { readonly ranksPerPod: number; readonly isEnough: boolean },
): string {
  const count = [...held].filter(({ free }) => free >= ranksPerPod).length;
  if (count === 0) return '';
  const are = count === 1 ? '1 node is' : `${count} nodes are`;
  return isEnough
    ? ` It would start on what is free, but ${are} kept in reserve: ${STATED}.`
    : ` Not counted: ${are} kept in reserve (${STATED}), which would not be enough.`;
}

/** Such as `1 node of each NVLink domain`. */
export function reserveInWords({ nodesPerNvlinkDomain = 0, nodesPerIsland = 0 }: Reserve): string {
  const nodes = (count: number): string => `${count} node${count === 1 ? '' : 's'}`;
  return [
    ...(nodesPerNvlinkDomain > 0 ? [`${nodes(nodesPerNvlinkDomain)} of each NVLink domain`] : []),
    ...(nodesPerIsland > 0 ? [`${nodes(nodesPerIsland)} of each island`] : []),
  ].join(' and ');
}

/** Why a gang is not placed that an empty cluster would only hold on the nodes in reserve too. */
export function boundByReserve(needs: string, reserve: Reserve): string {
  return `${needs}, which even an empty cluster has only with the nodes in reserve: ${STATED}, keeps ${reserveInWords(reserve)} free. Ask for fewer GPUs, or lower the reserve.`;
}
