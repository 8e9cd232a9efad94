import { worldSize } from '@coxswain/layout';
import { trafficOf } from '../traffic/assumed-traffic.ts';
import type { Fabric, FabricCapacity, FabricNode } from '../nodes/fabric.ts';
import { type AcrossIslands, type GangRequest, type GangShape, gangShape } from '../traffic/gang-shape.ts';
import { placementCost } from './least-crossing.ts';
import { nodesInReserve, openNodes, withTaken } from '../capacity/open-nodes.ts';
import { breaksRule } from '../capacity/placed-nodes.ts';
import { costAround } from './replacement-cost.ts';
import { capacityToReplace, withoutReserve } from '../capacity/reserve.ts';
import { stageSegments, type StageSegment } from '../traffic/stage-segments.ts';
import { offersFor, type SpareNode, type SpareOffer, tightestFor } from '../capacity/spares.ts';

/** Where a gang is: pod `i` on `nodes[i]`, with the ranks `[i * ranksPerPod, (i + 1) * ranksPerPod)`. */
export interface PlacedGang {
  readonly nodes: readonly string[];
  readonly ranksPerPod: number;
}

/** How much more than the cheapest placement, in weighted bytes, the one that moves few ranks may cost: less than a step's time varies by. */
const TOLERANCE = 0.1;

/**
 * The gang on its nodes, with spares in place of nodes that can no longer run its pods. Only the pods of those nodes move; if a tensor group finds
 * no spare in its NVLink domain, the pods of that group move. Spares are chosen group by group: those over which the fewest weighted bytes go, then
 * those outside the reserve ({@link capacityToReplace}), then those of the fullest domains. Undefined if the rules of placement allow none of it:
 * then the whole gang is placed again.
 */
export function replaceNodes(request: GangRequest, capacity: FabricCapacity, gang: PlacedGang): PlacedGang | undefined {
  const { stageGpus } = request;
  if (stageGpus !== undefined) return replaceSegments(stageSegments({ ...request, stageGpus }, capacity), gang);
  const shape = gangShape(request.layout, gang.ranksPerPod);
  const { gpusPerNode = gang.ranksPerPod } = request;
  if (gang.nodes.length !== shape.pods || Math.min(gpusPerNode, shape.worldSize) !== gang.ranksPerPod) return undefined;
  const kept = keptNodes(shape, capacity, gang);
  if (!kept.some((node) => node !== undefined)) return undefined;
  const asItIs = { ...request, acrossIslands: islandsOf(request, kept) };
  const whole = filled(
    { request: asItIs, shape, fabric: capacity.fabric, pools: poolsFor(capacity, gang, kept) },
    kept,
  );
  if (whole === undefined || breaksRule(asItIs, shape, whole)) return undefined;
  return { nodes: whole.map(({ name }) => name), ranksPerPod: gang.ranksPerPod };
}

/** Part by part, each with spares of its own type of GPU, and of these none that another part has or was given. */
function replaceSegments(
  segments: readonly StageSegment[],
  { nodes, ranksPerPod }: PlacedGang,
): PlacedGang | undefined {
  const parts = segments.map(({ request, firstRank }) => {
    const first = firstRank / ranksPerPod;
    return nodes.slice(first, first + worldSize(request.layout) / ranksPerPod);
  });
  for (const [part, { request, capacity }] of segments.entries()) {
    const ofOthers = parts.flatMap((others, other) => (other === part ? [] : others));
    const own = { nodes: parts[part] ?? [], ranksPerPod };
    const replaced = replaceNodes(request, withTaken(capacity, ofOthers), own);
    if (replaced === undefined) return undefined;
    parts[part] = [...replaced.nodes];
  }
  return { nodes: parts.flat(), ranksPerPod };
}

/** Where any group may cross islands, and the gang is in one, it stays there: beyond, all of it would have to use sockets. */
function islandsOf({ acrossIslands = 'never' }: GangRequest, kept: readonly (FabricNode | undefined)[]): AcrossIslands {
  const islands = new Set(kept.flatMap((node) => node?.island ?? []));
  return acrossIslands === 'anyGroup' && islands.size === 1 ? 'never' : acrossIslands;
}

/**
 * The one that moves few ranks, unless it costs more than the other by a tenth, or has GPUs of more types. Nobody who trains wants to be moved for less.
 */
export function keptUnlessWorse(
  request: GangRequest,
  { fabric }: FabricCapacity,
  { kept, anew }: { readonly kept: PlacedGang; readonly anew: PlacedGang },
): PlacedGang {
  const types = new Map(fabric.nodes.map(({ name, gpuType }) => [name, gpuType]));
  const typesOf = ({ nodes }: PlacedGang): number => new Set(nodes.map((name) => types.get(name))).size;
  const traffic = trafficOf(request);
  const cost = ({ nodes, ranksPerPod }: PlacedGang): number =>
    placementCost({ shape: gangShape(request.layout, ranksPerPod), traffic, fabric }, nodes);
  return typesOf(kept) <= typesOf(anew) && cost(kept) <= cost(anew) * (1 + TOLERANCE) ? kept : anew;
}

interface Refilling {
  readonly request: GangRequest;
  readonly shape: GangShape;
  readonly fabric: Fabric;
  /** What is free, in the order in which it is taken where all costs the same. */
  readonly pools: readonly (readonly SpareNode[])[];
}

/** What anybody could have, and with the nodes in reserve where these are for such a gang. */
function poolsFor(
  capacity: FabricCapacity,
  gang: PlacedGang,
  kept: readonly (FabricNode | undefined)[],
): Refilling['pools'] {
  const all = openNodes(withoutReserve(capacity)).filter(({ free }) => free > 0);
  if (capacity.reserve === undefined) return [all];
  // What the gang keeps is no reserve.
  const usedGpus = new Map([
    ...capacity.usedGpus,
    ...kept.flatMap((node) => (node === undefined ? [] : [[node.name, node.gpus] as const])),
  ]);
  const held = new Set([...nodesInReserve({ ...capacity, usedGpus })].map(({ node }) => node.name));
  const others = all.filter(({ node }) => !held.has(node.name));
  return capacityToReplace(capacity, gang) === capacity ? [others] : [others, all];
}

/** Of each pod the node that it can stay on. */
function keptNodes(
  shape: GangShape,
  { fabric, usedGpus }: FabricCapacity,
  { nodes }: PlacedGang,
): (FabricNode | undefined)[] {
  const byName = new Map(fabric.nodes.map((node) => [node.name, node]));
  return nodes.map((name, podIndex) => {
    const node = byName.get(name);
    const isFree = node?.usable === true && node.gpus - (usedGpus.get(name) ?? 0) >= ranksOfPod(shape, podIndex);
    return isFree ? node : undefined;
  });
}

interface Offers {
  readonly mostOffers: number;
}

/** Choices that are costed in all, a millisecond or two each at 16,384 ranks; of every block at least so many, the nearest ones. */
const MOST_COSTED = 192;
const LEAST_OFFERS = 3;

/** Every pod's node, block after block; those that have a domain already come first, since only its nodes will do. */
function filled(refilling: Refilling, kept: readonly (FabricNode | undefined)[]): readonly FabricNode[] | undefined {
  const { shape } = refilling;
  const nodes = [...kept];
  const broken = new Set(
    nodes.flatMap((node, pod) => (node === undefined ? [Math.floor(pod / shape.podsPerBlock)] : [])),
  );
  const isAnchored = (block: number): boolean => podsOfBlock(shape, block).some((pod) => nodes[pod] !== undefined);
  const inOrder = [...broken].sort((one, other) => Number(isAnchored(other)) - Number(isAnchored(one)) || one - other);
  const filling = { ...refilling, mostOffers: Math.max(LEAST_OFFERS, Math.floor(MOST_COSTED / inOrder.length)) };
  const homeless: number[] = [];
  for (const block of inOrder) if (!fillBlock(filling, nodes, block)) homeless.push(block);
  for (const block of homeless) {
    for (const pod of podsOfBlock(shape, block)) nodes[pod] = undefined;
    if (!fillBlock(filling, nodes, block)) return undefined;
  }
  const whole = nodes.filter((node) => node !== undefined);
  return whole.length === nodes.length ? whole : undefined;
}

/** Nodes for the pods of that block that have none; false, and nothing changed, where there are none. */
function fillBlock(
  { shape, request, fabric, pools, mostOffers }: Refilling & Offers,
  nodes: (FabricNode | undefined)[],
  block: number,
): boolean {
  const pods = podsOfBlock(shape, block);
  const lost = pods.filter((pod) => nodes[pod] === undefined);
  const needs = lost.map((pod) => ranksOfPod(shape, pod));
  const chosen = new Set(nodes.flatMap((node) => node?.name ?? []));
  const beside = pods.flatMap((pod) => nodes[pod] ?? []);
  const gang = nodes.flatMap((node) => node ?? []);
  const types = new Set(gang.map(({ gpuType }) => gpuType));
  const next = [(pods[0] ?? 0) - 1, (pods.at(-1) ?? 0) + 1].flatMap((pod) => nodes[pod] ?? []);
  const vacancy = { needs, beside, next, inRow: inRowOf(shape, nodes, block), gang, mostOffers };
  const offersOf = (isMeant: (spare: SpareNode) => boolean): readonly SpareOffer[] =>
    pools.flatMap((pool) =>
      offersFor(
        vacancy,
        pool.filter((spare) => !chosen.has(spare.node.name) && isMeant(spare)),
        request.acrossIslands ?? 'never',
      ),
    );
  const alike = offersOf(({ node }) => types.has(node.gpuType));
  const offers = alike.length > 0 ? alike : offersOf(() => true);
  const costOf = costAround({ request, fabric }, shape, { nodes, pods: lost });
  const [best] = offers
    .map((offer) => tightestFor(needs, offer))
    .map((taken, rank) => ({ taken, rank, cost: costOf(taken) }))
    .sort((one, other) => one.cost - other.cost || one.rank - other.rank);
  if (best === undefined) return false;
  lost.forEach((pod, index) => (nodes[pod] = best.taken[index]));
  return true;
}

/** Nodes that the pods of that block's row have: all of a row is in one island. */
function inRowOf(
  { podsPerBlock, blocksPerRow }: GangShape,
  nodes: readonly (FabricNode | undefined)[],
  block: number,
): readonly FabricNode[] {
  const first = Math.floor(block / blocksPerRow) * blocksPerRow * podsPerBlock;
  return nodes.slice(first, first + blocksPerRow * podsPerBlock).flatMap((node) => node ?? []);
}

function podsOfBlock({ podsPerBlock, pods }: GangShape, block: number): readonly number[] {
  const first = block * podsPerBlock;
  return Array.from({ length: Math.min(podsPerBlock, pods - first) }, (_, index) => first + index);
}

function ranksOfPod({ pods, ranksPerPod, lastPodRanks }: GangShape, podIndex: number): number {
  return podIndex === pods - 1 ? lastPodRanks : ranksPerPod;
}
