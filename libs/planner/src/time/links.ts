/** Time of traffic between the ranks of a group, by the slowest network tier that it crosses. */
import type { NicKind } from '@coxswain/layout';
import type { ClusterFacts } from '../facts.ts';
import { COEFFICIENTS, type TimeConstants } from './constants.ts';
import { softMax } from './kernels.ts';
import { crossesIslands, domainGpusOf, membersPerBlock, type Group } from './tiers.ts';

const GIGA = 1e9;

function scaleUpBytesPerS(cluster: ClusterFacts, constants: TimeConstants): number {
  return (cluster.gpu.scaleUpGbPerS * GIGA) / constants.scaleUpSlowdown;
}

/** Bytes per second and GPU across nodes for a collective over `domains` scale-up domains. */
function scaleOutBytesPerS(cluster: ClusterFacts, group: Group, domains: number, constants: TimeConstants): number {
  const slowdown = constants.scaleOutSlowdown * (1 + constants.scaleOutPerDoubling * Math.log2(Math.max(1, domains)));
  return nicBytesPerS(cluster, group, constants) / slowdown;
}

/** Rate of the NICs of a group: those of the priced island, else of the slowest island, or those between islands. */
function nicBytesPerS(cluster: ClusterFacts, group: Group, constants: TimeConstants): number {
  const { islands, pricedIsland } = cluster;
  if (islands === undefined || islands.length < 2) return nicsOf(cluster, constants);
  const slowest = Math.min(...islands.map((island) => nicsOf(island, constants)));
  if (!crossesIslands(cluster, group))
    return pricedIsland === undefined ? slowest : nicsOf(islands[pricedIsland] ?? cluster, constants);
  return Math.min(slowest, (cluster.betweenIslandsGbPerS ?? Infinity) * GIGA);
}

/** Index of the island whose NICs are fastest; undefined where there is one network. */
export function fastestNics({ islands = [] }: ClusterFacts, constants: TimeConstants): number | undefined {
  const rates = islands.map((island) => nicsOf(island, constants));
  return rates.length < 2 ? undefined : rates.indexOf(Math.max(...rates));
}

function nicsOf(
  { scaleOutGbPerS, nicKind }: Pick<ClusterFacts, 'scaleOutGbPerS' | 'nicKind'>,
  constants: TimeConstants,
): number {
  return (scaleOutGbPerS * GIGA) / nicSlowdown(nicKind, constants);
}

/** No network is faster than InfiniBand of the same rate, and TCP over Ethernet is slower than RDMA over it. */
function nicSlowdown(kind: NicKind, constants: TimeConstants): number {
  switch (kind) {
    case 'infiniband':
      return 1;
    case 'roce':
      return 1 + constants.scaleOutRoce;
    case 'efa':
      return 1 + constants.scaleOutEfa;
    case 'ethernet':
      return (1 + constants.scaleOutRoce) * (1 + constants.scaleOutEthernet);
    case 'omnipath':
      return 1 + constants.scaleOutOmniPath;
    case 'other':
      return 1 + constants.scaleOutOther;
  }
}

/** Bytes per second and GPU between scale-up domains of one node, which meet at the host. */
function hostLinkBytesPerS({ gpu }: ClusterFacts): number {
  return (Math.min(gpu.pcieGbPerS, gpu.scaleUpGbPerS) * GIGA) / COEFFICIENTS.hostLinkSlowdown;
}

/** How many members of a group share each tier; a node is one only where it holds several scale-up domains, as with NVLink bridges. */
interface Tiers {
  readonly inDomain: number;
  readonly inNode: number;
  /** Nodes, or domains where these are larger. */
  readonly nodes: number;
}

function tiersOf(cluster: ClusterFacts, group: Group): Tiers {
  const domain = domainGpusOf(cluster);
  const node = Math.min(cluster.gpusPerNode, cluster.gpus);
  const inDomain = membersPerBlock(group, domain);
  const inNode = node > domain ? Math.max(inDomain, membersPerBlock(group, node)) : inDomain;
  return { inDomain, inNode, nodes: Math.ceil(group.size / inNode) };
}

/**
 * Seconds of one reduce-scatter or all-gather in which every rank ends with, or starts from, `bytes` bytes; an all-reduce is two of them.
 *
 * Ring over the members: (n-1)/n * bytes through every link. Across nodes the members that share a node share its NICs. So the ring
 * enters and leaves a node with as many NICs as it has members there (NCCL's rings), never faster than the links inside. One message passes the
 * members one after the other, so that its latency grows with the nodes and not with their logarithm.
 */
export function collectiveS(cluster: ClusterFacts, group: Group, bytes: number, constants: TimeConstants): number {
  if (group.size <= 1 || bytes <= 0) return 0;
  const { inDomain, inNode, nodes } = tiersOf(cluster, group);
  const up = inDomain > 1 ? scaleUpBytesPerS(cluster, constants) : Infinity;
  const host = inNode > inDomain ? hostLinkBytesPerS(cluster) : Infinity;
  const out = nodes > 1 ? inNode * scaleOutBytesPerS(cluster, group, nodes, constants) : Infinity;
  const moved = (bytes * (group.size - 1)) / group.size;
  const startS = constants.collectiveLatencyS * (inNode - 1) + constants.scaleOutLatencyS * (nodes - 1);
  return moved / Math.min(up, host, out) + startS;
}

/**
 * Seconds until `bytes` bytes of every rank have passed all members of a ring, each rank handing them to the next: ring attention.
 *
 * Of the members that share a node one hands over to the next node, over the NIC beside it: a step takes as long as its slowest link, however many
 * NICs the node has.
 */
export function ringS(cluster: ClusterFacts, group: Group, bytes: number, constants: TimeConstants): number {
  if (group.size <= 1 || bytes <= 0) return 0;
  const { inDomain, inNode, nodes } = tiersOf(cluster, group);
  const up = inDomain > 1 ? scaleUpBytesPerS(cluster, constants) : Infinity;
  const host = inNode > inDomain ? hostLinkBytesPerS(cluster) : Infinity;
  const out = nodes > 1 ? scaleOutBytesPerS(cluster, group, 1, constants) : Infinity;
  const startS = constants.collectiveLatencyS * (inNode - 1) + constants.scaleOutLatencyS * (nodes - 1);
  return ((group.size - 1) * bytes) / Math.min(up, host, out) + startS;
}

/**
 * Seconds in which every rank sends `bytes` bytes evenly to all members of its group, itself included, as Ulysses exchanges heads. Traffic to another node
 * uses the NIC of the sender while the rest moves inside the node.
 */
export function ulyssesExchangeS(cluster: ClusterFacts, group: Group, bytes: number, constants: TimeConstants): number {
  if (group.size <= 1 || bytes <= 0) return 0;
  const { inDomain, inNode, nodes } = tiersOf(cluster, group);
  const toRank = bytes / group.size;
  const upS = ((inDomain - 1) * toRank) / scaleUpBytesPerS(cluster, constants);
  const hostS = inNode > inDomain ? ((inNode - inDomain) * toRank) / hostLinkBytesPerS(cluster) : 0;
  const outS = nodes > 1 ? ((group.size - inNode) * toRank) / scaleOutBytesPerS(cluster, group, nodes, constants) : 0;
  const startS = constants.collectiveLatencyS * (inNode - 1) + constants.scaleOutLatencyS * (nodes - 1);
  return Math.max(upS, hostS, outS) + startS;
}

/** The bytes of `collectiveS` cut into `messages` collectives: each passes all nodes anew, while inside a node the next is under way already. */
export function collectivesS(
  cluster: ClusterFacts,
  group: Group,
  { bytes, messages }: { readonly bytes: number; readonly messages: number },
  constants: TimeConstants,
): number {
  if (group.size <= 1 || bytes <= 0) return 0;
  const passesS = constants.scaleOutLatencyS * (tiersOf(cluster, group).nodes - 1);
  return collectiveS(cluster, group, bytes, constants) + (messages - 1) * passesS;
}

/**
 * Seconds of an all-to-all in which every rank sends `bytes` bytes in all, evenly to the members of the group.
 *
 * Traffic to members of the same domain and to others moves at once; the slower of the two decides.
 */
export function allToAllS(
  cluster: ClusterFacts,
  group: Group,
  bytes: { readonly inside: number; readonly across: number },
  constants: TimeConstants,
): number {
  if (group.size <= 1) return 0;
  const { inDomain, inNode, nodes } = tiersOf(cluster, group);
  const upS = (bytes.inside * constants.dispatchSlowdown) / (cluster.gpu.scaleUpGbPerS * GIGA);
  if (inDomain >= group.size) return upS + constants.collectiveLatencyS;
  const toNode = (bytes.across * (inNode - inDomain)) / (group.size - inDomain);
  const hostS = toNode / hostLinkBytesPerS(cluster);
  if (inNode >= group.size) return softMax(upS, hostS) + constants.collectiveLatencyS;
  const outS = ((bytes.across - toNode) * constants.dispatchAcross) / nicBytesPerS(cluster, group, constants);
  const startS = constants.collectiveLatencyS + constants.scaleOutLatencyS * Math.log2(nodes);
  return softMax(softMax(upS, hostS), outS) + startS;
}

/**
 * Seconds to hand `bytes` bytes from every rank of one pipeline stage to the next on one network, averaged over the boundaries. Some boundaries lie inside a
 * scale-up domain, some between two of a node, some between two nodes.
 */
export function handOverS(cluster: ClusterFacts, group: Group, bytes: number, constants: TimeConstants): number {
  if (group.size <= 1) return 0;
  const bytesPerS = scaleOutBytesPerS(cluster, { size: 1, stride: 1 }, 1, constants);
  return meanHandOverS(cluster, boundariesOf(cluster, group, 0), { bytes, bytesPerS }, constants);
}

/** A pipeline, and the islands in which each of its ranks has GPUs. */
interface PipelineInIslands {
  readonly group: Group;
  readonly islandsOfRanks: readonly (readonly number[])[];
}

/**
 * The same if there are several islands, from each rank to the next and from the last to the first. Ranks of one island use its network, averaged as above.
 * Others use the slower of their networks and what lies between islands. Ends in several islands fare as their worst pair.
 */
export function handOversS(
  cluster: ClusterFacts,
  { group, islandsOfRanks }: PipelineInIslands,
  bytes: number,
  constants: TimeConstants,
): readonly number[] {
  if (group.size <= 1) return islandsOfRanks.map(() => 0);
  const mayCross = crossesIslands(cluster, group);
  const ends = islandsOfRanks.map((islands, rank) => {
    const next = islandsOfRanks[(rank + 1) % islandsOfRanks.length] ?? [];
    const touched = [...new Set([...islands, ...next])];
    return { touched, isBorder: mayCross && touched.length > 1 };
  });
  const borders = ends.slice(0, -1).filter(({ isBorder }) => isBorder).length;
  const inside = boundariesOf(cluster, group, borders);
  return ends.map(({ touched, isBorder }) => {
    const nics = touched.flatMap((index) => cluster.islands?.[index] ?? []).map((island) => nicsOf(island, constants));
    const between = isBorder ? (cluster.betweenIslandsGbPerS ?? Infinity) * GIGA : Infinity;
    const bytesPerS = Math.min(...nics, between) / constants.scaleOutSlowdown;
    const boundaries = isBorder ? { up: 0, host: 0, out: 1 } : inside;
    return meanHandOverS(cluster, boundaries, { bytes, bytesPerS }, constants);
  });
}

/** How many boundaries between stages lie inside a scale-up domain, between two of a node, and between nodes. */
interface Boundaries {
  readonly up: number;
  readonly host: number;
  readonly out: number;
}

/** All but those between islands, which lie between nodes. */
function boundariesOf(cluster: ClusterFacts, group: Group, borders: number): Boundaries {
  const { inDomain, nodes } = tiersOf(cluster, group);
  const leavingDomain = Math.ceil(group.size / inDomain) - 1;
  const crossing = nodes - 1;
  const up = Math.max(0, Math.min(group.size - 1 - leavingDomain, group.size - 1 - borders));
  return { up, host: leavingDomain - crossing, out: Math.max(0, crossing - borders) };
}

function meanHandOverS(
  cluster: ClusterFacts,
  { up, host, out }: Boundaries,
  { bytes, bytesPerS }: { readonly bytes: number; readonly bytesPerS: number },
  constants: TimeConstants,
): number {
  const upS = up === 0 ? 0 : bytes / scaleUpBytesPerS(cluster, constants);
  const hostS = host === 0 ? 0 : bytes / hostLinkBytesPerS(cluster);
  const outS = out === 0 ? 0 : bytes / bytesPerS;
  return (upS * up + hostS * host + outS * out) / Math.max(1, up + host + out) + constants.pipelineHopS;
}
