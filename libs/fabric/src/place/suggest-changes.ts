import { isWhole, type ParallelLayout, worldSize } from '@coxswain/layout';
import { packWithin } from '../capacity/across-islands.ts';
import { capacitiesOfEqualNics, needsEqualNics, unequalNics } from '../capacity/equal-nics.ts';
import { type FabricCapacity, type FabricNode, gpusOf } from '../nodes/fabric.ts';
import type { GangRequest, GangShape } from '../traffic/gang-shape.ts';
import { byText } from '../capacity/islands.ts';
import { partitionPoint } from '../capacity/partition-point.ts';
import { freeGpusOf, openNodes } from '../capacity/open-nodes.ts';
import { joinByLabel, onOneNetwork } from '../capacity/unlabelled-nodes.ts';
import { nodesToLetIn } from '../capacity/unusable-nodes.ts';

/** A gang that was not placed, and the capacity at that time. */
export interface Refused {
  readonly request: GangRequest;
  readonly capacity: FabricCapacity;
  /** The pods into which a layout may be cut, in the order in which they are tried. */
  readonly shapesOf: (layout: ParallelLayout) => readonly GangShape[];
}

/**
 * Small changes that each let the gang start now, as text; each was tried on a copy and the gang fitted. Empty if none was found. For other jobs the
 * text names the nodes that they would have to leave, because their names are not known here.
 */
export function suggestChanges(refused: Refused): readonly string[] {
  const changes = [nodesToFree, nodesThatTakePods, fewerReplicas, labels, moreIslands];
  return changes.map((change) => change(refused)).filter((change) => change !== undefined);
}

/** The same for a gang of more ranks than there are GPUs. */
export function suggestForTooManyRanks(refused: Refused): readonly string[] {
  const change = fewerReplicas(refused);
  return change === undefined ? [] : [change];
}

/**
 * The same for a gang that not even an empty cluster would hold: freeing nodes is no help. Where no island is large enough and none may be crossed, its
 * refusal itself says what crossing takes.
 */
export function suggestForEmptyCluster(refused: Refused): readonly string[] {
  const { gpusPerNode = 0 } = refused.request;
  // Fewer ranks than a pod was to have would fit, and that is not what was asked.
  if (refused.capacity.fabric.nodes.every(({ gpus }) => gpus < gpusPerNode)) return [];
  const forbidsCrossing = (refused.request.acrossIslands ?? 'never') === 'never';
  const changes = forbidsCrossing ? [fewerReplicas] : [fewerReplicas, moreIslands];
  return changes.map((change) => change(refused)).filter((change) => change !== undefined);
}

function fits(
  { shapesOf }: Refused,
  { layout, acrossIslands = 'never' }: GangRequest,
  capacity: FabricCapacity,
): boolean {
  const packed = (on: FabricCapacity): readonly string[] | undefined => {
    const free = freeGpusOf(openNodes(on));
    for (const shape of shapesOf(layout)) {
      const nodes = packWithin(acrossIslands, shape, on.fabric.nodes, free);
      if (nodes !== undefined) return nodes;
    }
    return undefined;
  };
  const nodes = packed(capacity);
  if (nodes === undefined || !needsEqualNics({ layout, acrossIslands }) || unequalNics(nodes, capacity) === undefined) {
    return nodes !== undefined;
  }
  return capacitiesOfEqualNics(capacity).some((equal) => packed(equal) !== undefined);
}

const MOST_ISLANDS_TRIED = 4;
const MOST_NAMED = 4;

/** The fewest nodes of one island, those with least on them and whose domains lack least, that would have to be left by others. */
function nodesToFree(refused: Refused): string | undefined {
  const { request, capacity } = refused;
  const [shape] = refused.shapesOf(request.layout);
  if (shape === undefined) return undefined;
  const free = freeGpusOf(openNodes(capacity));
  const used = ({ name }: FabricNode): number => capacity.usedGpus.get(name) ?? 0;
  const missing = new Map<string, number>();
  for (const { nvlinkDomain } of capacity.fabric.nodes.filter((node) => free(node) >= shape.ranksPerPod)) {
    missing.set(nvlinkDomain, ((missing.get(nvlinkDomain) ?? 0) + 1) % shape.podsPerBlock);
  }
  const lacking = ({ nvlinkDomain }: FabricNode): number =>
    (shape.podsPerBlock - (missing.get(nvlinkDomain) ?? 0)) % (shape.podsPerBlock + 1);
  const busy = capacity.fabric.nodes
    .filter((node) => node.usable && node.gpus >= shape.ranksPerPod && free(node) < shape.ranksPerPod && used(node) > 0)
    .sort((one, other) => lacking(one) - lacking(other) || used(one) - used(other) || byText(one.name, other.name));
  const islands = [...Map.groupBy(busy, ({ island }) => island)]
    .sort(([one], [other]) => byText(one, other))
    .slice(0, MOST_ISLANDS_TRIED);
  const found = islands
    .map(([island, nodes]) => ({ island, nodes: fewestFreed(refused, nodes) }))
    .filter((one) => one.nodes.length > 0)
    .sort((one, other) => one.nodes.length - other.nodes.length)[0];
  if (found === undefined) return undefined;
  const { island } = found;
  const nodes = withoutNeedless(refused, found.nodes);
  const named = nodes.slice(0, MOST_NAMED).map(({ name }) => name);
  const more = nodes.length > MOST_NAMED ? ` and ${nodes.length - MOST_NAMED} more` : '';
  return `free ${nodes.length} node${nodes.length === 1 ? '' : 's'} of island ${island} (${named.join(', ')}${more})`;
}

/** The shortest beginning of the list that is enough; empty where all of it is not. */
function fewestFreed(refused: Refused, nodes: readonly FabricNode[]): readonly FabricNode[] {
  const count = partitionPoint((first) => fitsWithout(refused, nodes.slice(0, first)), nodes.length);
  return count === undefined ? [] : nodes.slice(0, count);
}

function fitsWithout(refused: Refused, freed: readonly FabricNode[]): boolean {
  const usedGpus = new Map(refused.capacity.usedGpus);
  for (const { name } of freed) usedGpus.delete(name);
  return fits(refused, refused.request, { ...refused.capacity, usedGpus });
}

/** Each such look costs as much as a placement without a search. */
const MOST_LEFT_OUT = 16;

/** Without those that need not be freed beside the others: what comes first may be the half of a domain whose other half is not among them. */
function withoutNeedless(refused: Refused, nodes: readonly FabricNode[]): readonly FabricNode[] {
  return nodes.slice(0, MOST_LEFT_OUT).reduce((kept, node) => {
    const others = kept.filter((one) => one !== node);
    return others.length > 0 && fitsWithout(refused, others) ? others : kept;
  }, nodes);
}

function nodesThatTakePods(refused: Refused): string | undefined {
  return nodesToLetIn(refused.capacity, (capacity) => fits(refused, refused.request, capacity));
}

/** The most data ranks for which there is room. */
function fewerReplicas(refused: Refused): string | undefined {
  const { request, capacity } = refused;
  const { layout } = request;
  const ofOne = worldSize(layout) / layout.dataParallelDegree;
  const most = Math.min(layout.dataParallelDegree - 1, Math.floor(gpusOf(capacity.fabric.nodes) / ofOne));
  const degrees = Array.from({ length: most }, (_, less) => most - less).filter(
    (degree) => isWhole({ ...layout, dataParallelDegree: degree }) && dividesBatch(request, degree),
  );
  const fitsAt = (index: number): boolean => {
    const dataParallelDegree = degrees[index - 1] ?? 1;
    return fits(refused, { ...request, layout: { ...layout, dataParallelDegree } }, capacity);
  };
  const index = partitionPoint(fitsAt, degrees.length);
  return index === undefined
    ? undefined
    : `lower layout.dataParallelDegree from ${layout.dataParallelDegree} to ${degrees[index - 1]}`;
}

/** Whether every replica still takes as many whole micro-batches as the others. */
function dividesBatch({ batch }: GangRequest, dataParallelDegree: number): boolean {
  return batch === undefined || batch.globalBatchSize % (batch.microBatchSize * dataParallelDegree) === 0;
}

/** Nodes that do not say on which network they are might be on that of the others. */
function labels(refused: Refused): string | undefined {
  const { request, capacity } = refused;
  const fabric = onOneNetwork(capacity.fabric);
  if (fabric === undefined || !fits(refused, request, { ...capacity, fabric })) return undefined;
  return `${joinByLabel(capacity.fabric)}, where they are on that of the others`;
}

/** One of the changes. */
export const USE_SOCKETS = 'recreate the job with resources.acrossIslands Sockets, at the speed of TCP';

function moreIslands(refused: Refused): string | undefined {
  const { request, capacity } = refused;
  if (request.acrossIslands === 'anyGroup') return undefined;
  if (request.acrossIslands !== 'pipeline' && fits(refused, { ...request, acrossIslands: 'pipeline' }, capacity)) {
    return 'recreate the job with resources.acrossIslands Pipeline, if its islands reach each other';
  }
  return fits(refused, { ...request, acrossIslands: 'anyGroup' }, capacity) ? USE_SOCKETS : undefined;
}
