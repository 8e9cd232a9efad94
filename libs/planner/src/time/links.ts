import type { ClusterFacts, NicKind } from '../facts.ts';
import type { TimeConstants } from './constants.ts';

/** A process group: `size` ranks, each `stride` ranks after the one before (ranks fill nodes in order). */
export interface Group {
  readonly size: number;
  readonly stride: number;
}

const GIGA = 1e9;

/** How many members of a group share one scale-up domain. */
export function membersPerDomain(cluster: ClusterFacts, group: Group): number {
  return Math.max(1, Math.min(group.size, Math.floor(cluster.scaleUpDomainGpus / group.stride)));
}

function scaleUpBytesPerS(cluster: ClusterFacts, constants: TimeConstants): number {
  return (cluster.gpu.scaleUpGbPerS * GIGA) / constants.scaleUpSlowdown;
}

/** Bytes per second and GPU across nodes for a collective over `domains` scale-up domains. */
function scaleOutBytesPerS(cluster: ClusterFacts, group: Group, domains: number, constants: TimeConstants): number {
  const slowdown = constants.scaleOutSlowdown * (1 + constants.scaleOutPerDoubling * Math.log2(Math.max(1, domains)));
  return nicBytesPerS(cluster, group, constants) / slowdown;
}

/** Of the NICs that a group talks over: those of its island, of the slowest island where all have such groups, or those between islands. */
function nicBytesPerS(cluster: ClusterFacts, group: Group, constants: TimeConstants): number {
  const { islands } = cluster;
  if (islands === undefined || islands.length < 2) return nicsOf(cluster, constants);
  const slowest = Math.min(...islands.map((island) => nicsOf(island, constants)));
  if (!crossesIslands(cluster, group)) return slowest;
  return Math.min(slowest, (cluster.betweenIslandsGbPerS ?? Infinity) * GIGA);
}

function nicsOf(
  { scaleOutGbPerS, nicKind }: Pick<ClusterFacts, 'scaleOutGbPerS' | 'nicKind'>,
  constants: TimeConstants,
): number {
  return (scaleOutGbPerS * GIGA) / nicSlowdown(nicKind, constants);
}

/** Whether some group of this shape has members on two islands: groups tile the ranks in blocks of stride * size, islands in order. */
export function crossesIslands(cluster: ClusterFacts, group: Group): boolean {
  const block = group.stride * group.size;
  let end = 0;
  return (cluster.islands ?? []).some((island) => {
    end += island.gpus;
    return end < cluster.gpus && end % block !== 0;
  });
}

function nicSlowdown(kind: NicKind, constants: TimeConstants): number {
  switch (kind) {
    case 'infiniband':
      return 1;
    case 'roce':
      return constants.scaleOutRoce;
    case 'ethernet':
      return constants.scaleOutEthernet;
    case 'other':
      return constants.scaleOutOther;
  }
}

/**
 * Seconds of one reduce-scatter or all-gather in which every rank ends with, or starts from, `bytes` bytes; an all-reduce is two of them.
 *
 * Ring over the members: (n-1)/n * bytes through every link. Across domains the members that share a domain share its NICs, so that the ring
 * enters and leaves a domain with as many NICs as it has members there (NCCL's rings), never faster than the links inside.
 */
export function collectiveS(cluster: ClusterFacts, group: Group, bytes: number, constants: TimeConstants): number {
  if (group.size <= 1 || bytes <= 0) return 0;
  const inside = membersPerDomain(cluster, group);
  const domains = Math.ceil(group.size / inside);
  const moved = (bytes * (group.size - 1)) / group.size;
  const up = scaleUpBytesPerS(cluster, constants);
  const stepsS = constants.collectiveLatencyS * (inside - 1);
  if (domains === 1) return moved / up + stepsS;
  const out = Math.min(inside > 1 ? up : Infinity, inside * scaleOutBytesPerS(cluster, group, domains, constants));
  return moved / out + stepsS + constants.scaleOutLatencyS * Math.log2(group.size);
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
  const inside = membersPerDomain(cluster, group);
  const up = (bytes.inside * constants.dispatchSlowdown) / (cluster.gpu.scaleUpGbPerS * GIGA);
  if (inside >= group.size) return up + constants.collectiveLatencyS;
  const across = (bytes.across * constants.dispatchAcross) / nicBytesPerS(cluster, group, constants);
  return up + across + constants.collectiveLatencyS + constants.scaleOutLatencyS * Math.log2(group.size);
}

/**
 * Seconds to hand `bytes` bytes from every rank of one pipeline stage to the next, averaged over the boundaries: some lie inside a scale-up
 * domain, some between two, and as many as there are borders of islands between these.
 */
export function handOverS(cluster: ClusterFacts, group: Group, bytes: number, constants: TimeConstants): number {
  if (group.size <= 1) return 0;
  const inside = membersPerDomain(cluster, group);
  const boundaries = group.size - 1;
  const crossing = Math.ceil(group.size / inside) - 1;
  const borders = crossesIslands(cluster, group) ? Math.min(crossing, (cluster.islands ?? []).length - 1) : 0;
  const alone = { size: 1, stride: 1 };
  const upS = bytes / scaleUpBytesPerS(cluster, constants);
  const outS = crossing === 0 ? 0 : bytes / scaleOutBytesPerS(cluster, alone, 1, constants);
  const betweenS = borders === 0 ? 0 : bytes / scaleOutBytesPerS(cluster, group, 1, constants);
  const sumS = upS * (boundaries - crossing) + outS * (crossing - borders) + betweenS * borders;
  return sumS / boundaries + constants.pipelineHopS;
}
