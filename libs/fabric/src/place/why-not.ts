import { formatLayout, type ParallelLayout, worldSize } from '@coxswain/layout';
import type { Fabric, FabricNode } from '../nodes/fabric.ts';
import {
  type AcrossIslands,
  type GangRequest,
  type GangShape,
  innerUlyssesDegree,
  ranksInDomain,
} from '../traffic/gang-shape.ts';

/** Why a gang that an empty cluster would hold cannot start now: what it needs, what is free, and what keeps the free ones apart. */
export function waitingMessage(
  shape: GangShape,
  nodes: readonly FabricNode[],
  {
    free: freeGpus,
    acrossIslands,
  }: { readonly free: (node: FabricNode) => number; readonly acrossIslands: AcrossIslands },
): string {
  const ableNodes = nodes.filter((node) => freeGpus(node) >= shape.ranksPerPod).length;
  const free = nodes.reduce((sum, node) => sum + freeGpus(node), 0);
  const total = nodes.reduce((sum, node) => sum + node.gpus, 0);
  const needs = `${needsOf(shape)}; `;
  const has = `${free} of ${total} GPUs are free, on ${count(ableNodes, 'node')} with ${shape.ranksPerPod} or more`;
  if (ableNodes < shape.pods) return `${needs}${has}.`;
  return `${needs}${has}, but ${notTogether(shape.layout, acrossIslands)}.`;
}

/** What keeps nodes apart that are enough by number. */
export function notTogether(layout: ParallelLayout, acrossIslands: AcrossIslands = 'never'): string {
  return `not together: ${inDomain(layout)} need one NVLink domain${ISLANDS_TOO[acrossIslands]}`;
}

/** First words of a refusal: GPUs, nodes and free GPUs per node that the gang needs. */
export function needsOf({ worldSize: ranks, pods, ranksPerPod }: GangShape): string {
  return `Needs ${count(ranks, 'GPU')} as ${count(pods, 'node')} with ${ranksPerPod} free each`;
}

const IN_ISLANDS: Readonly<Record<AcrossIslands, string>> = {
  never: ' and the gang in one island',
  pipeline: ' and each data group in one island among those of one NIC class',
  anyGroup: '',
};

const ISLANDS_TOO: Readonly<Record<AcrossIslands, string>> = {
  never: ', and the gang one island',
  pipeline: ', and data groups one island among those of one NIC class',
  anyGroup: '',
};

function inDomain(layout: ParallelLayout): string {
  const inner = innerUlyssesDegree(layout);
  return inner === 1 ? 'tensor groups' : `tensor groups, ${inner} of them for each layout.sequence.ulyssesDegree,`;
}

/**
 * Why not even an empty cluster holds the gang, and what to change. The first broken rule is named. `fits`: whether it would hold it if stages were
 * in several islands, or all ranks used sockets, and whether another sentence says that these would do.
 */
export function unsatisfiableMessage(
  request: GangRequest,
  fabric: Fabric,
  fits: { readonly asPipeline: boolean; readonly overSockets: boolean; readonly shouldAdviseSockets: boolean },
): string {
  const { layout, gpusPerNode } = request;
  const tooMany = gpusPerNode === undefined ? undefined : exceedsEveryNode(gpusPerNode, fabric.nodes);
  if (tooMany !== undefined) return tooMany;
  const usable = fabric.nodes.map((node) => ({ ...node, gpus: Math.min(node.gpus, gpusPerNode ?? node.gpus) }));
  const domain = largestOf(usable, (node) => `${node.nvlinkDomain}\n${node.island}`, nvlinkDomainOf);
  const tensorGroup = layout.tensorParallelDegree;
  const inner = innerUlyssesDegree(layout);
  const perNode = gpusPerNode === undefined ? '' : ` at ${gpusPerNode} per node`;
  if (domain.gpus < tensorGroup) {
    return (
      `A tensor group needs ${count(tensorGroup, 'GPU')} in one NVLink domain; the largest, ${domain.name}, has ` +
      `${domain.gpus}${perNode}. Lower layout.tensorParallelDegree to at most ${domain.gpus}${orMorePerNode(request, fabric)}.`
    );
  }
  if (domain.gpus < ranksInDomain(layout)) {
    const most = Math.floor(domain.gpus / tensorGroup);
    return (
      `The inner all-to-all of layout.sequence.ulyssesDegree ${inner} needs ${count(ranksInDomain(layout), 'GPU')} in one NVLink domain, ` +
      `${tensorGroup} for each of its ranks; the largest, ${domain.name}, has ${domain.gpus}${perNode}. Lower layout.sequence.ulyssesDegree to at most ` +
      `${most}, so that the ring takes the rest of layout.contextParallelDegree, or lower layout.tensorParallelDegree.`
    );
  }
  const { acrossIslands = 'never' } = request;
  const island = largestOf(usable, (node) => node.island);
  if (acrossIslands === 'never' && island.gpus < worldSize(layout)) {
    const pipeline = fits.asPipeline ? 'Pipeline where islands of one NIC class reach each other, or ' : '';
    return (
      `The gang needs ${count(worldSize(layout), 'GPU')} in one island; the largest, ${island.name}, has ${island.gpus}${perNode}. Ask for at most ` +
      `${island.gpus}, or make the job with resources.acrossIslands ${pipeline}Sockets at the speed of TCP.`
    );
  }
  const stage = worldSize(layout) / layout.pipelineParallelDegree;
  if (acrossIslands === 'pipeline' && island.gpus < stage) {
    const most = Math.floor((island.gpus * layout.dataParallelDegree) / stage);
    const lower = most === 0 ? 'layout.contextParallelDegree' : `layout.dataParallelDegree to at most ${most}`;
    return (
      `The data groups of a pipeline stage need ${count(stage, 'GPU')} in one island; the largest, ${island.name}, has ` +
      `${island.gpus}${perNode}. Lower ${lower}, or raise layout.pipelineParallelDegree in its place.`
    );
  }
  return (
    `No set of nodes keeps each ${inner === 1 ? 'tensor group' : `group of ${ranksInDomain(layout)} (layout.sequence.ulyssesDegree ${inner})`} of ${formatLayout(layout)} in one NVLink domain${IN_ISLANDS[acrossIslands]}${perNode}; the largest domain, ${domain.name}, has ${count(domain.gpus, 'GPU')} and the largest island, ` +
    `${island.name}, ${island.gpus}. ${bindingLimit(request, fabric, fits)}`
  );
}

/** Islands, where the gang would fit but for them; else its groups. */
function bindingLimit(
  { acrossIslands }: GangRequest,
  { nodes }: Fabric,
  { overSockets, shouldAdviseSockets }: { readonly overSockets: boolean; readonly shouldAdviseSockets: boolean },
): string {
  if (!overSockets) return 'Lower a degree, so that whole groups fit into these, or set another resources.gpusPerNode.';
  const classes = [...new Set(nodes.flatMap(({ nicType }) => nicType?.toLowerCase() ?? []))].sort();
  const apart =
    acrossIslands === 'pipeline' && classes.length > 1
      ? `Islands bind: NICs of different classes (${classes.join(', ')}) cannot connect`
      : 'Islands bind: each alone is too small';
  if (shouldAdviseSockets) return `${apart}.`;
  return `${apart}. Lower a degree, or make the job with resources.acrossIslands Sockets, at the speed of TCP.`;
}

/** Undefined where some node has as many. There are nodes. */
export function exceedsEveryNode(gpusPerNode: number, nodes: readonly FabricNode[]): string | undefined {
  const largest = largestOf(nodes, (node) => node.name);
  if (gpusPerNode <= largest.gpus) return undefined;
  return (
    `resources.gpusPerNode ${gpusPerNode} exceeds every node; the largest, ${largest.name}, has ` +
    `${count(largest.gpus, 'GPU')}. Set resources.gpusPerNode to at most ${largest.gpus}.`
  );
}

/** Where whole nodes would do. */
function orMorePerNode({ layout, gpusPerNode }: GangRequest, { nodes }: Fabric): string {
  if (gpusPerNode === undefined) return '';
  const whole = largestOf(nodes, ({ nvlinkDomain, island }) => `${nvlinkDomain}\n${island}`, nvlinkDomainOf);
  return whole.gpus < layout.tensorParallelDegree ? '' : ', or leave out resources.gpusPerNode';
}

function nvlinkDomainOf(key: string): string {
  return key.slice(0, key.indexOf('\n'));
}

/** The group with most GPUs; of equal ones the first by name. `fabric` is never empty here. */
function largestOf(
  nodes: readonly FabricNode[],
  keyOf: (node: FabricNode) => string,
  nameOf: (key: string) => string = (key) => key,
): { readonly name: string; readonly gpus: number } {
  const gpusByKey = new Map<string, number>();
  for (const node of nodes) gpusByKey.set(keyOf(node), (gpusByKey.get(keyOf(node)) ?? 0) + node.gpus);
  let largest = { key: '', gpus: 0 };
  for (const [key, gpus] of gpusByKey) {
    if (gpus > largest.gpus || (gpus === largest.gpus && key < largest.key)) largest = { key, gpus };
  }
  return { name: nameOf(largest.key), gpus: largest.gpus };
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
