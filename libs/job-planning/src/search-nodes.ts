import type { AvoidedNode } from '@coxswain/api-types';
import {
  assumedTraffic,
  capacityToReplace,
  cheaperPods,
  cheaperPodsText,
  type Fabric,
  type FabricCapacity,
  findNodes,
  keptUnlessWorse,
  type LayoutTraffic,
  type PlacedGang,
  placeGang,
  type PlacementOutcome,
  repairPlacement,
  replaceNodes,
  trafficOf,
  whyNotPlaced,
} from '@coxswain/fabric';
import { jobTraffic, type SpecOfTraffic } from './job-traffic.ts';
import { whyHere } from './why-here.ts';

type GangRequest = Parameters<typeof placeGang>[0];

/** A gang of a job that looks for nodes. Plain data: it may be searched in another process. */
export interface NodeSearch {
  readonly spec: SpecOfTraffic;
  readonly request: Omit<GangRequest, 'traffic'>;
  readonly avoided: readonly AvoidedNode[];
  /** Where its last gang of the same layout was; absent: there was none. */
  readonly before?: PlacedGang;
}

/** `where`: why its ranks sit there, in a sentence, and which smaller pods would cost less in another; empty for one node. */
export type FoundNodes =
  | (PlacedGang & { readonly kind: 'placed'; readonly where: string })
  | Exclude<PlacementOutcome, { readonly kind: 'placed' }>;

/**
 * Nodes for the gang. The same search of the same capacity finds the same.
 *
 * If the other nodes cannot hold the gang, nodes that failed the job are used again. They may be healthy again, and a gang that trains on them is
 * worth more than one that waits. GPUs of a pod that hangs stay taken.
 */
export function searchNodes(search: NodeSearch, capacity: FabricCapacity): FoundNodes {
  const { layout } = search.spec;
  const traffic = (): LayoutTraffic => jobTraffic(search.spec) ?? assumedTraffic(layout);
  const request = { ...search.request, traffic };
  const outcome = placeAvoiding(request, capacity, search);
  if (outcome.kind !== 'placed') return outcome;
  const why = whyHere(trafficOf({ layout, traffic }), outcome, capacity.fabric);
  const cheaper = cheaperPods(request, capacityWithout(capacity, search.avoided), outcome);
  return { ...outcome, where: cheaper === undefined ? why : `${why} ${cheaperPodsText(cheaper)}` };
}

/**
 * What a search found on the fabric `searched`, with the capacity of now: pods whose nodes were taken or changed since get the nearest nodes that are free
 * ({@link repairPlacement}). Undefined: the nodes must be searched again. A refusal stays one.
 */
export function foundNow(
  { request, avoided, before }: NodeSearch,
  { found, searched }: { readonly found: FoundNodes; readonly searched: Fabric },
  capacity: FabricCapacity,
): FoundNodes | undefined {
  if (found.kind !== 'placed') return found;
  const without = capacityWithout(capacity, avoided);
  const mayUseReserve = before !== undefined && capacityToReplace(without, before) !== without;
  const names = new Set(avoided.map(({ node }) => node));
  // Like the search, which uses such nodes only if it finds none without them.
  const now = found.nodes.some((name) => names.has(name)) ? capacity : without;
  const repaired = repairPlacement(found, { request, searched, capacity: now, mayUseReserve, avoided: names });
  if (repaired === undefined) return undefined;
  const { moved, ...gang } = repaired;
  if (moved === 0) return found;
  const pods = moved === 1 ? '1 pod is' : `${moved} pods are`;
  const where = `${found.where} While nodes were searched, others took some of them: ${pods} on the nearest free nodes instead.`;
  return { kind: 'placed', ...gang, where: where.trimStart() };
}

/** The same for searches that find the same of the same capacity. */
export function nodeSearchKey({ spec, request, avoided, before }: NodeSearch): string {
  const { engine, model, training } = spec;
  return JSON.stringify([
    request,
    engine.name,
    model,
    training,
    avoided.map(({ node, reason }) => [node, reason]),
    before,
  ]);
}

/** The capacity as if those nodes took no pods. They still count for what the cluster could hold. */
export function capacityWithout(capacity: FabricCapacity, avoided: readonly AvoidedNode[]): FabricCapacity {
  if (avoided.length === 0) return capacity;
  const names = new Set(avoided.map(({ node }) => node));
  const nodes = capacity.fabric.nodes.map((node) => (names.has(node.name) ? { ...node, usable: false } : node));
  return { ...capacity, fabric: { ...capacity.fabric, nodes } };
}

function placeAvoiding(
  request: GangRequest,
  capacity: FabricCapacity,
  { avoided, before }: Pick<NodeSearch, 'avoided' | 'before'>,
): PlacementOutcome {
  const found = placeKeeping(request, capacityWithout(capacity, avoided), before);
  if (found !== undefined) return found;
  if (avoided.length === 0) return whyNotPlaced(request, capacity);
  return withSecondLooks(placeGang(request, capacity), capacity, avoided);
}

/** The pods of a gang that was there before keep their nodes, where these are as good as others: images and what was saved near lie there. */
function placeKeeping(
  request: GangRequest,
  capacity: FabricCapacity,
  before: PlacedGang | undefined,
): ReturnType<typeof findNodes> {
  if (before === undefined) return findNodes(request, capacity);
  const anew = findNodes(request, capacity);
  const kept = replaceNodes(request, capacity, before);
  // Such as a gang of one node, which keeps nothing when that fails.
  const withReserve = capacityToReplace(capacity, before);
  if (kept === undefined) return anew ?? (withReserve === capacity ? undefined : findNodes(request, withReserve));
  return { kind: 'placed', ...(anew === undefined ? kept : keptUnlessWorse(request, capacity, { kept, anew })) };
}

/**
 * Each pod looks at its own ranks' share of a checkpoint. So where a gang cannot do without a node that alone read other content than was saved,
 * that node changes places with its neighbour, which then looks at the same files. Only with one as near to all others and of as many GPUs.
 */
function withSecondLooks(
  outcome: PlacementOutcome,
  { fabric }: FabricCapacity,
  avoided: readonly AvoidedNode[],
): PlacementOutcome {
  if (outcome.kind !== 'placed') return outcome;
  const doubting = new Set(avoided.flatMap(({ node, reason }) => (reason === 'ContentDiffers' ? [node] : [])));
  if (doubting.size === 0) return outcome;
  const inDomain = Map.groupBy(fabric.nodes, ({ nvlinkDomain }) => nvlinkDomain);
  // Nodes that are alone in their domains are alike, whatever these are called.
  const placeOf = new Map(
    fabric.nodes.map(({ name, nvlinkDomain, island, switches, gpus }) => {
      const domain = inDomain.get(nvlinkDomain)?.length === 1 ? null : nvlinkDomain;
      return [name, JSON.stringify([domain, island, switches, gpus])];
    }),
  );
  const areAlike = (one: string, other: string): boolean => placeOf.get(one) === placeOf.get(other);
  const nodes = [...outcome.nodes];
  for (const [from, node] of outcome.nodes.entries()) {
    const to = nodes.findIndex((other) => doubting.has(node) && !doubting.has(other) && areAlike(node, other));
    if (to >= 0) [nodes[from], nodes[to]] = [nodes[to] ?? node, node];
  }
  return { ...outcome, nodes };
}
