/** Members of process groups that share a network tier: a scale-up domain, a node or an island. */
import type { ClusterFacts } from '../facts.ts';

/** A process group of a layout; ranks fill nodes, domains and islands in order. */
export interface Group {
  /** Ranks. */
  readonly size: number;
  /** Ranks from one member to the next. */
  readonly stride: number;
  /**
   * Runs of members that are not evenly spaced, because another axis lies between the two that the group is made of. A run has `length` members that
   * are `stride` apart, and each run begins a `stride` of its own after the one before.
   */
  readonly runs?: { readonly length: number; readonly stride: number };
}

/**
 * GPUs that a job uses of each scale-up domain. A job that needs several racks takes as many of each: 512 GPUs are 64 of each of 8 racks of 72.
 * The other 8 of each rack stay unused, because groups that are split between two racks would cost more than idle trays.
 */
export function domainGpusOf({ gpus, gpusPerNode, scaleUpDomainGpus }: ClusterFacts): number {
  if (gpus <= scaleUpDomainGpus) return gpus;
  if (gpus % scaleUpDomainGpus === 0 || scaleUpDomainGpus <= gpusPerNode) return scaleUpDomainGpus;
  for (
    let used = scaleUpDomainGpus - (scaleUpDomainGpus % gpusPerNode);
    2 * used > scaleUpDomainGpus;
    used -= gpusPerNode
  ) {
    if (gpus % used === 0) return used;
  }
  return scaleUpDomainGpus;
}

/**
 * How many members of a group share a block of `block` consecutive GPUs, in the group of its kind that fares worst. For example, groups of three
 * neighbours do not all fit into nodes of 8, because the third group has two on one node and one on the next.
 */
export function membersPerBlock({ size, stride, runs }: Group, block: number): number {
  if (runs === undefined) return evenlySpaced(size, stride, block);
  const ofRun = evenlySpaced(runs.length, stride, block);
  return ofRun < runs.length ? ofRun : ofRun * evenlySpaced(size / runs.length, runs.stride, block);
}

/** Groups tile the ranks in blocks of size * stride. Both tilings begin together again every so many ranks; that is what one member can be sure of. */
function evenlySpaced(size: number, stride: number, block: number): number {
  const span = size * stride;
  if (block % span === 0) return size;
  if (stride >= block) return 1;
  return Math.max(1, Math.floor(commonDivisor(span, block) / stride));
}

/** Greatest common divisor. */
export function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** How many members of a group share one scale-up domain. */
export function membersPerDomain(cluster: ClusterFacts, group: Group): number {
  return membersPerBlock(group, domainGpusOf(cluster));
}

/** Whether every group of this shape lies whole in one scale-up domain, or in one node where that is larger. */
export function staysInDomain(cluster: ClusterFacts, group: Group): boolean {
  const block = Math.max(domainGpusOf(cluster), Math.min(cluster.gpusPerNode, cluster.gpus));
  return membersPerBlock(group, block) === group.size;
}

/** Ranks from the first to behind the last member of the groups that tile the ranks together. */
function spanOf({ size, stride, runs }: Group): number {
  return runs === undefined ? size * stride : (size / runs.length) * runs.stride;
}

/** Whether some group of this shape has members on two islands. Ranks fill islands in order, or each island holds whole stages. */
export function crossesIslands(cluster: ClusterFacts, group: Group): boolean {
  const { islands = [], stagesInOneIsland } = cluster;
  const span = spanOf(group);
  if (stagesInOneIsland === true) return span >= cluster.gpus && !islands.some(({ gpus }) => gpus >= cluster.gpus);
  let end = 0;
  return islands.some((island) => {
    end += island.gpus;
    return end < cluster.gpus && end % span !== 0;
  });
}
