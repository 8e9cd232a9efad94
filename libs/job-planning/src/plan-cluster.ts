import type { AcrossIslands, Fabric, FabricNode } from '@coxswain/fabric';
import type { PlanCluster, PlanIsland } from '@coxswain/planner';
import { GBPS_PER_GB_PER_S, nicKindOf, scaleOutGbPerSOf } from './network-of-gpu.ts';
import { presetOf } from './preset-of.ts';

/** The part of a fabric that a job is planned for. `description` says it in one line, and is equal where the rest is. */
export interface KnownCluster {
  readonly cluster: PlanCluster;
  readonly description: string;
  /** What nodes call the GPUs of each island, where these are of several types; absent: all are of one. */
  readonly gpuTypes?: readonly string[];
}

/** Why nothing can be planned on a fabric that has GPUs. */
export interface UnknownCluster {
  readonly problem: string;
  readonly description: string;
}

interface PlannedFor {
  readonly gpus: number;
  readonly gpusPerNode?: number | undefined;
  /** Absent: never. */
  readonly acrossIslands?: AcrossIslands;
  /** Whether stages can be cut for GPUs of several types, as a layout cannot that is written already. Absent: no. */
  readonly mayMixGpus?: boolean;
}

/** Most islands that a plan is made for; further ones are left out, smallest first. */
const MAX_ISLANDS = 64;

/**
 * The cluster as the planner sees it for a job with `gpus` GPUs: nodes of the most frequent GPU type, used or free, and the usual number of NICs per
 * GPU. A job that fits into one island is planned for that island alone, and so is one that may use no other. A job that may cross islands is
 * planned for those that it may use, over TCP if these have any class of NICs. Undefined without any GPU.
 */
export function planCluster(fabric: Fabric, request: PlannedFor): KnownCluster | UnknownCluster | undefined {
  const [gpuType, nodes] = largestGroup(fabric.nodes, (node) => node.gpuType ?? '');
  const [first] = nodes;
  if (first === undefined) return undefined;
  const total = gpusOf(nodes);
  if (gpuType === '') {
    return {
      problem:
        'The planner does not know which GPUs the nodes have: label them with fabric.coxswain.dev/gpu-type or ' +
        'nvidia.com/gpu.product, or give a layout instead of gpus.',
      description: `${total} GPUs of an unknown type`,
    };
  }
  const preset = presetOf(gpuType);
  if (preset === undefined) {
    return {
      problem:
        `The planner does not know the GPU type "${gpuType}" of the nodes: label them with a type it knows as ` +
        'fabric.coxswain.dev/gpu-type, or give a layout instead of gpus.',
      description: `${total} GPUs of type ${gpuType}`,
    };
  }
  const gpusPerNode = Math.min(request.gpusPerNode ?? Infinity, mostCommon(nodes.map((node) => node.gpus)));
  const mixed = mixedParts(fabric.nodes, { ...request, gpusPerNode, largestType: gpuType });
  const members = mixed?.flatMap((part) => part.nodes) ?? nodes;
  // Of each node a pod has no more than it asks for: its neighbours there are of other gangs.
  const domains = [...groupsOf(members, (node) => node.nvlinkDomain).values()].map((domain) =>
    domain.reduce((sum, { gpus }) => sum + Math.min(gpus, gpusPerNode), 0),
  );
  const islands = mixed?.map((part) => part.island) ?? islandsFor(request, nodes);
  const [largest] = islands;
  const isWhole = mixed !== undefined || (request.acrossIslands === 'pipeline' && islands.length > 1);
  const cluster: PlanCluster = {
    gpu: preset,
    gpus: request.gpus,
    gpusPerNode,
    scaleUpDomainGpus: mixed === undefined ? mostCommon(domains) : Math.min(...domains),
    ...(largest?.scaleOutGbPerS === undefined ? {} : { scaleOutGbPerS: largest.scaleOutGbPerS }),
    ...(largest?.nicKind === undefined ? {} : { nicKind: largest.nicKind }),
    ...(islands.length < 2 ? {} : { islands }),
    ...(isWhole ? { stagesInOneIsland: true } : {}),
  };
  const networks = islands
    .map((island) => `${island.gpus}${island.gpu === undefined ? '' : ` ${island.gpu}`} on ${networkOf(island)}`)
    .join(' and ');
  const sockets = request.acrossIslands === 'anyGroup' && islands.length > 1 ? 'over TCP sockets, ' : '';
  const types = mixed === undefined ? preset : [...new Set(islands.map(({ gpu = preset }) => gpu))].join(' and ');
  const description =
    `${gpusOf(members)} ${types} GPUs, ${gpusPerNode} per node, NVLink domains of ${cluster.scaleUpDomainGpus ?? gpusPerNode}; for ${request.gpus}: ${sockets}${networks}`.slice(
      0,
      MAX_DESCRIPTION,
    );
  return { cluster, description, ...(mixed === undefined ? {} : { gpuTypes: mixed.map((part) => part.gpuType) }) };
}

/** Longest `fabric` of a plan in status. */
const MAX_DESCRIPTION = 1024;

/** Nodes of one island and one type of GPU. */
interface MixedPart {
  readonly island: PlanIsland;
  readonly gpuType: string;
  readonly nodes: readonly FabricNode[];
}

/**
 * For a job that may use several islands, if no GPU type has enough GPUs. Returns the nodes of every type that the planner knows, of these islands or
 * of those of one NIC class. The most frequent type is first. Undefined if one type is enough, or all together are not.
 */
function mixedParts(
  all: readonly FabricNode[],
  {
    gpus,
    gpusPerNode,
    acrossIslands = 'never',
    mayMixGpus = false,
    largestType,
  }: PlannedFor & {
    readonly gpusPerNode: number;
    readonly largestType: string;
  },
): readonly MixedPart[] | undefined {
  if (!mayMixGpus || acrossIslands === 'never') return undefined;
  const usable = all.filter((node) => node.gpus >= gpusPerNode && presetOf(node.gpuType ?? '') !== undefined);
  const islands = [...groupsOf(usable, (node) => node.island).values()];
  const joined = (acrossIslands === 'pipeline' ? ofLargestClass(islands) : islands).flat();
  const byType = [...groupsOf(joined, (node) => node.gpuType ?? '')].sort(
    ([a, nodesOfA], [b, nodesOfB]) =>
      Number(b === largestType) - Number(a === largestType) || gpusOf(nodesOfB) - gpusOf(nodesOfA) || (a < b ? -1 : 1),
  );
  const holds = (nodes: readonly FabricNode[]): boolean => gpusOf(nodes) >= gpus;
  if (byType.length < 2 || !holds(joined) || byType.some(([, nodes]) => holds(nodes))) return undefined;
  const parts = byType.flatMap(([gpuType, nodes]) =>
    bySize(groupsOf(nodes, (node) => node.island)).map((members) => ({
      gpuType,
      nodes: members,
      island: {
        gpus: gpusOf(members),
        gpu: presetOf(gpuType) ?? gpuType,
        relativeSpeed: 1,
        ...nicOf(members),
        ...(acrossIslands === 'anyGroup' ? { nicKind: 'ethernet' as const } : {}),
      },
    })),
  );
  return parts.length <= MAX_ISLANDS ? parts : undefined;
}

/** Largest first; of equal ones the first by name. */
function bySize(groups: ReadonlyMap<string, readonly FabricNode[]>): readonly (readonly FabricNode[])[] {
  return [...groups]
    .sort(([a, nodesOfA], [b, nodesOfB]) => gpusOf(nodesOfB) - gpusOf(nodesOfA) || (a < b ? -1 : 1))
    .map(([, members]) => members);
}

/** The largest islands that together hold the job and that it may have together; one where one does. */
function islandsFor({ gpus, acrossIslands = 'never' }: PlannedFor, nodes: readonly FabricNode[]): PlanIsland[] {
  const all = bySize(groupsOf(nodes, (node) => node.island)).slice(0, MAX_ISLANDS);
  const [largest = []] = all;
  if (acrossIslands === 'never' || gpusOf(largest) >= gpus) return shared(gpus, [largest]);
  if (acrossIslands === 'pipeline') return whole(gpus, ofLargestClass(all));
  return shared(gpus, all).map((island) => ({ ...island, nicKind: 'ethernet' }));
}

/** Islands of the most frequent NIC class, among islands whose nodes all have one class. */
function ofLargestClass(islands: readonly (readonly FabricNode[])[]): readonly (readonly FabricNode[])[] {
  const classOf = ({ nicType = '' }: FabricNode): string => nicType.toLowerCase();
  const alike = islands.filter((members) => groupsOf(members, classOf).size === 1);
  const [largest] = largestGroup(alike.flat(), classOf);
  const chosen = alike.filter(([first]) => first !== undefined && classOf(first) === largest);
  return chosen.length === 0 ? islands.slice(0, 1) : chosen;
}

/** GPUs of islands in their order, as many as are asked for. */
function shared(gpus: number, islands: readonly (readonly FabricNode[])[]): PlanIsland[] {
  const chosen: PlanIsland[] = [];
  let left = gpus;
  for (const [index, members] of islands.entries()) {
    if (left <= 0) break;
    // More than there is: what is missing is expected beside the last of them.
    const taken = index === islands.length - 1 ? left : Math.min(left, gpusOf(members));
    chosen.push({ gpus: taken, relativeSpeed: 1, ...nicOf(members) });
    left -= taken;
  }
  return chosen;
}

/** All GPUs of islands in their order, as many islands as hold what is asked for: stages that do not fill one leave some of it over. */
function whole(gpus: number, islands: readonly (readonly FabricNode[])[]): PlanIsland[] {
  const all = islands.map((members) => ({ gpus: gpusOf(members), relativeSpeed: 1, ...nicOf(members) }));
  const missing = gpus - all.reduce((sum, island) => sum + island.gpus, 0);
  // What is missing is expected beside the last of them.
  return all.map((island, index) =>
    missing > 0 && index === all.length - 1 ? { ...island, gpus: island.gpus + missing } : island,
  );
}

function nicOf(nodes: readonly FabricNode[]): Pick<PlanIsland, 'nicKind' | 'scaleOutGbPerS'> {
  const [kind] = largestGroup(nodes, (node) => node.nicType ?? '');
  const speeds = nodes.flatMap((node) => scaleOutGbPerSOf(node) ?? []);
  return {
    ...(kind === '' ? {} : { nicKind: nicKindOf(kind) }),
    ...(speeds.length === 0 ? {} : { scaleOutGbPerS: mostCommon(speeds) }),
  };
}

function networkOf({ nicKind, scaleOutGbPerS }: PlanIsland): string {
  const speed = scaleOutGbPerS === undefined ? '' : ` of ${scaleOutGbPerS * GBPS_PER_GB_PER_S} Gb/s`;
  return `${nicKind ?? 'a usual network'}${speed}`;
}

function gpusOf(nodes: readonly FabricNode[]): number {
  return nodes.reduce((sum, node) => sum + node.gpus, 0);
}

function groupsOf(
  nodes: readonly FabricNode[],
  nameOf: (node: FabricNode) => string,
): ReadonlyMap<string, readonly FabricNode[]> {
  return Map.groupBy(nodes, nameOf);
}

/** The group with most GPUs; of equal ones the first by name. */
function largestGroup(
  nodes: readonly FabricNode[],
  nameOf: (node: FabricNode) => string,
): readonly [string, readonly FabricNode[]] {
  const groups = [...groupsOf(nodes, nameOf)].sort(
    ([a, nodesOfA], [b, nodesOfB]) => gpusOf(nodesOfB) - gpusOf(nodesOfA) || (a < b ? -1 : 1),
  );
  return groups[0] ?? ['', []];
}

/** Of equally common ones the largest. */
function mostCommon(values: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [best] = [...counts].sort(([a, timesA], [b, timesB]) => timesB - timesA || b - a);
  return best?.[0] ?? 1;
}
