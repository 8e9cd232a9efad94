import type { Fabric } from '../nodes/fabric.ts';
import { type FabricTiers, farthestBoundary, tiersOf } from './fabric-tiers.ts';
import { BOUNDARIES, type CrossingBytes, type GroupTraffic, type LayoutTraffic } from './traffic.ts';

/**
 * Bytes per step over each boundary where rank `r` runs on the node `nodeOfRank[r]`. Every pair of ranks crosses `gpu`.
 *
 * Rings run as NCCL's do. NCCL lists the members' nodes by the first rank on each, goes through all members on one before the next, and reads no
 * switches. Nodes that share an NVLink domain are one node to it (NCCL 2.30 src/init.cc `rankToNode`, src/graph/connect.cc `connectRings`; NVIDIA/nccl
 * issues 1340, 1545, 1933). Within a domain the same is assumed of its machines. Rings that an engine sends itself, rank to rank, are taken for such
 * ones too: the two differ only where a group leaves a domain and comes back to it.
 *
 * Throws a RangeError for a rank without a node, or on a node that the fabric lacks.
 */
export function crossingBytes(traffic: LayoutTraffic, nodeOfRank: readonly string[], fabric: Fabric): CrossingBytes {
  const tiers = tiersOf(fabric);
  const indexOfRank = nodeIndexes(nodeOfRank, tiers);
  const walk = newWalk(tiers);
  for (const groupTraffic of traffic.byKind) {
    for (const group of groupTraffic.groups) addGroup(walk, { groupTraffic, nodes: nodesOf(group, indexOfRank) });
  }
  let beyond = 0;
  const bytes = [...walk.bytesByFarthest]
    .reverse()
    .map((farthest) => (beyond += farthest))
    .reverse();
  return Object.fromEntries(BOUNDARIES.map((boundary, index) => [boundary, bytes[index] ?? 0])) as CrossingBytes;
}

interface Walk {
  readonly tiers: FabricTiers;
  /** Bytes of pairs whose farthest boundary is the one of this index. */
  readonly bytesByFarthest: Float64Array;
  /** Members of a group by class; zero between groups. */
  readonly counts: Int32Array;
}

interface PlacedGroup {
  readonly groupTraffic: GroupTraffic;
  /** Index of each member's node, in rank order. */
  readonly nodes: readonly number[];
}

function newWalk(tiers: FabricTiers): Walk {
  return {
    tiers,
    bytesByFarthest: new Float64Array(BOUNDARIES.length),
    counts: new Int32Array(tiers.indexOfNode.size),
  };
}

function nodeIndexes(nodeOfRank: readonly string[], tiers: FabricTiers): Int32Array {
  return Int32Array.from(nodeOfRank, (name, rank) => {
    const index = tiers.indexOfNode.get(name);
    if (index === undefined) throw new RangeError(`rank ${rank} is on node ${name}, which the fabric does not have`);
    return index;
  });
}

function nodesOf(group: readonly number[], indexOfRank: Int32Array): readonly number[] {
  return group.map((rank) => {
    const index = indexOfRank[rank];
    if (index === undefined) throw new RangeError(`rank ${rank} has no node: ${indexOfRank.length} ranks have one`);
    return index;
  });
}

function addGroup(walk: Walk, { groupTraffic, nodes }: PlacedGroup): void {
  const { pattern, bytesPerPair } = groupTraffic;
  switch (pattern) {
    case 'ring':
      addNeighbours(walk, ringOrder(nodes, walk.tiers), { bytesPerPair, isClosed: true });
      return;
    case 'chain':
      addNeighbours(walk, nodes, { bytesPerPair, isClosed: false });
      return;
    case 'allToAll':
      addAllPairs(walk, nodes, bytesPerPair);
      return;
  }
}

function addNeighbours(
  { tiers, bytesByFarthest }: Walk,
  nodes: readonly number[],
  { bytesPerPair, isClosed }: { readonly bytesPerPair: number; readonly isClosed: boolean },
): void {
  let before = isClosed ? nodes.at(-1) : undefined;
  for (const node of nodes) {
    if (before !== undefined) addAt(bytesByFarthest, farthestBoundary(tiers, before, node), bytesPerPair);
    before = node;
  }
}

/** The members' nodes as NCCL's ring passes them: domain by domain and in it node by node, each by its first rank. */
function ringOrder(nodes: readonly number[], { domainOf }: FabricTiers): readonly number[] {
  if (!returnsTo(nodes, (node) => node) && !returnsTo(nodes, (node) => domainOf[node] ?? 0)) return nodes;
  const byDomain = new Map<number, Map<number, number[]>>();
  for (const node of nodes) {
    const domain = domainOf[node] ?? 0;
    const inDomain = byDomain.get(domain) ?? new Map<number, number[]>();
    byDomain.set(domain, inDomain);
    const onNode = inDomain.get(node) ?? [];
    inDomain.set(node, onNode);
    onNode.push(node);
  }
  return [...byDomain.values()].flatMap((inDomain) => [...inDomain.values()].flat());
}

/** Whether the walk through the members leaves a class and enters it again. */
function returnsTo(nodes: readonly number[], classOf: (node: number) => number): boolean {
  const left = new Set<number>();
  let current: number | undefined;
  for (const node of nodes) {
    const found = classOf(node);
    if (found === current) continue;
    if (left.has(found)) return true;
    if (current !== undefined) left.add(current);
    current = found;
  }
  return false;
}

/**
 * Of n members, n * n - sum of k * k ordered pairs are on two switches where k members are below each. Members of one NVLink domain reach each other
 * over it wherever their switches are, so pairs within a domain or below a switch stay near; those within both count once.
 */
function addAllPairs(walk: Walk, nodes: readonly number[], bytesPerPair: number): void {
  const { domainOf, beyond } = walk.tiers;
  const pairsWithin = (classOf: (node: number) => number): number => sumOfSquares(walk.counts, nodes, classOf);
  const inDomain = pairsWithin((node) => domainOf[node] ?? 0);
  const near = [
    // A member and itself: no traffic.
    nodes.length,
    pairsWithin((node) => node),
    inDomain,
    ...beyond.map(
      ({ switchOf, domainBelowOf }) =>
        inDomain + pairsWithin((node) => switchOf[node] ?? 0) - pairsWithin((node) => domainBelowOf[node] ?? 0),
    ),
    nodes.length * nodes.length,
  ];
  for (let farthest = 0; farthest < BOUNDARIES.length; farthest++) {
    addAt(walk.bytesByFarthest, farthest, ((near[farthest + 1] ?? 0) - (near[farthest] ?? 0)) * bytesPerPair);
  }
}

/** `counts` is zero for every class, and is left so. */
function sumOfSquares(counts: Int32Array, nodes: readonly number[], classOf: (node: number) => number): number {
  let sum = 0;
  for (const node of nodes) {
    const found = classOf(node);
    const count = counts[found] ?? 0;
    counts[found] = count + 1;
    sum += 2 * count + 1;
  }
  for (const node of nodes) counts[classOf(node)] = 0;
  return sum;
}

function addAt(bytes: Float64Array, index: number, more: number): void {
  bytes[index] = (bytes[index] ?? 0) + more;
}
