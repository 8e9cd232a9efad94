import type { AcrossIslands, FabricNode } from '@coxswain/fabric';
import type { PlanCluster } from '@coxswain/planner';
import { scaleOutGbPerSOf } from './network-of-gpu.ts';
import { planCluster } from './plan-cluster.ts';

/** A placement as the planner sees a cluster. */
export interface PlacedCluster {
  readonly cluster: PlanCluster;
  /** What of the placement the planner has no words for, in sentences. */
  readonly leftOut: readonly string[];
}

/**
 * The cluster that `gpus` ranks have on these nodes, pod by pod. It has the most frequent GPU type, and NVLink as far as every domain holds a run of
 * ranks. Its network is the slowest among the nodes, because a step waits for it. Undefined if the planner does not know the GPUs.
 */
export function placedCluster(
  nodes: readonly FabricNode[],
  { acrossIslands = 'never', ...held }: HeldRanks & { readonly acrossIslands?: AcrossIslands },
): PlacedCluster | undefined {
  const here = clusterOf(nodes, held);
  if (here === undefined) return undefined;
  const { nicKind, leftOut } = betweenIslands(nodes, acrossIslands);
  return { cluster: { ...here.cluster, ...nicKind }, leftOut: [...here.leftOut, ...leftOut] };
}

interface HeldRanks {
  readonly gpus: number;
  readonly ranksPerPod: number;
}

/** A gang that may use sockets does so on every rank once it is in several islands, whatever NICs its nodes have. */
function betweenIslands(
  nodes: readonly FabricNode[],
  acrossIslands: AcrossIslands,
): { readonly nicKind: Pick<PlanCluster, 'nicKind'>; readonly leftOut: readonly string[] } {
  const islands = new Set(nodes.map(({ island }) => island)).size;
  if (islands < 2) return { nicKind: {}, leftOut: [] };
  const isOverSockets = acrossIslands === 'anyGroup';
  const sockets = isOverSockets ? ', over TCP sockets' : '';
  return {
    nicKind: isOverSockets ? { nicKind: 'ethernet' } : {},
    leftOut: [`The gang is in ${islands} islands${sockets}: what the way between them costs is left out.`],
  };
}

/** The same whatever lies between islands. */
function clusterOf(nodes: readonly FabricNode[], { gpus, ranksPerPod }: HeldRanks): PlacedCluster | undefined {
  const placed = nodes.map((node, pod) => ({ ...node, gpus: Math.min(ranksPerPod, gpus - pod * ranksPerPod) }));
  const known = planCluster({ nodes: placed }, { gpus, gpusPerNode: ranksPerPod });
  if (known === undefined || 'problem' in known) return undefined;
  const { islands: _islands, ...cluster } = known.cluster;
  const slowest = slowestNetwork(placed);
  return {
    cluster: {
      ...cluster,
      scaleUpDomainGpus: ranksInEveryDomain(placed),
      ...(slowest === undefined ? {} : { scaleOutGbPerS: slowest }),
    },
    leftOut: [
      'Switches are taken to be as fast as the NICs: what shared and oversubscribed links cost is left out.',
      ...(slowest === undefined
        ? ['No label says how fast the NICs are: those that usually come with the GPUs are assumed.']
        : []),
      ...(new Set(nodes.map(({ gpuType }) => gpuType)).size > 1
        ? [`The nodes have different GPUs: all are taken to be ${cluster.gpu}.`]
        : []),
    ],
  };
}

/**
 * The cluster of a gang whose parts, each of so many consecutive stages and pods, are on nodes of several types of GPU: an island for each, with stages in
 * one island whole. Undefined where the planner does not know the GPUs of one.
 */
export function placedClusterOfParts(
  parts: readonly { readonly nodes: readonly FabricNode[]; readonly gpus: number }[],
  { ranksPerPod, acrossIslands }: Pick<HeldRanks, 'ranksPerPod'> & { readonly acrossIslands: AcrossIslands },
): PlacedCluster | undefined {
  const known = parts.flatMap(({ nodes, gpus }) => clusterOf(nodes, { gpus, ranksPerPod }) ?? []);
  const [first] = known;
  if (first === undefined || known.length < parts.length) return undefined;
  const between = betweenIslands(
    parts.flatMap(({ nodes }) => nodes),
    acrossIslands,
  );
  const islands = known.map(({ cluster: { gpu, gpus, scaleOutGbPerS, nicKind } }) => ({
    gpu,
    gpus,
    relativeSpeed: 1,
    ...(scaleOutGbPerS === undefined ? {} : { scaleOutGbPerS }),
    ...(nicKind === undefined ? {} : { nicKind }),
    ...between.nicKind,
  }));
  const cluster: PlanCluster = {
    ...first.cluster,
    ...between.nicKind,
    gpus: islands.reduce((sum, { gpus }) => sum + gpus, 0),
    scaleUpDomainGpus: Math.min(...known.map(({ cluster: { scaleUpDomainGpus = ranksPerPod } }) => scaleUpDomainGpus)),
    islands,
    stagesInOneIsland: true,
  };
  return { cluster, leftOut: [...new Set(known.flatMap(({ leftOut }) => leftOut)), ...between.leftOut] };
}

/** GB/s per GPU of the slowest NICs. */
function slowestNetwork(nodes: readonly FabricNode[]): number | undefined {
  const speeds = nodes.flatMap((node) => scaleOutGbPerSOf(node) ?? []);
  return speeds.length === 0 ? undefined : Math.min(...speeds);
}

/** The most consecutive ranks, counted from any multiple of them, that share an NVLink domain wherever one begins. */
function ranksInEveryDomain(nodes: readonly FabricNode[]): number {
  const domains = nodes.flatMap(({ nvlinkDomain, gpus }) => Array.from({ length: gpus }, () => nvlinkDomain));
  const perNode = nodes[0]?.gpus ?? 1;
  let ranks = perNode;
  for (let size = 2 * perNode; size <= domains.length; size += perNode) {
    if (isTiledBy(domains, size)) ranks = size;
  }
  return ranks;
}

function isTiledBy(domains: readonly string[], size: number): boolean {
  return domains.every((domain, rank) => domain === domains[rank - (rank % size)]);
}
