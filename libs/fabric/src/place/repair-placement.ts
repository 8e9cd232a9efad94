/** Which free nodes can take the place of nodes that were taken, or changed, while nodes for a gang were searched? */
import type { Fabric, FabricCapacity, FabricNode } from '../nodes/fabric.ts';
import { type GangRequest, gangShape, type GangShape } from '../traffic/gang-shape.ts';
import { byText } from '../capacity/islands.ts';
import { type OpenNode, openNodes } from '../capacity/open-nodes.ts';
import { withoutReserve } from '../capacity/reserve.ts';
import type { PlacedGang } from './replace.ts';

/** A search and what became of the cluster since. */
export interface SearchedGang {
  readonly request: GangRequest;
  /** The fabric that was searched. */
  readonly searched: Fabric;
  /** The cluster now. */
  readonly capacity: FabricCapacity;
  /** Whether the gang may use nodes in reserve; those outside are taken first. */
  readonly mayUseReserve?: boolean;
  /** Nodes that take no pod that was to be elsewhere. */
  readonly avoided?: ReadonlySet<string>;
}

/** The gang on free nodes, and how many of its pods are on other nodes than the search found. */
export interface RepairedGang extends PlacedGang {
  readonly moved: number;
}

/** If more of the nodes were lost, another search finds better ones. */
const MOST_LOST = 1 / 8;

/**
 * The gang that a search found, on nodes that are free now. Every pod whose node is free and as it was when it was searched keeps it. Each other pod gets
 * the nearest free node that is like the one that was found in all that the rules of placement read: island, type of GPU and NICs. A pod that shares
 * tensor groups with others gets one in their NVLink domain; if that has none left, all of them move to another domain.
 *
 * It prices nothing, so that it is quick enough for the event loop: the search found the best place, and what is nearest to that is nearly as good. Of
 * equally near nodes it takes those of the switch with most of the gang, so that it begins no other rack without need.
 *
 * Undefined if there are no such nodes, or more than an eighth of the nodes were lost: then the nodes must be searched again.
 */
export function repairPlacement(
  found: PlacedGang,
  { request, searched, capacity, mayUseReserve = false, avoided = new Set() }: SearchedGang,
): RepairedGang | undefined {
  const shape = gangShape(request.layout, found.ranksPerPod);
  const before = byName(searched.nodes);
  const targets = found.nodes.flatMap((name) => before.get(name) ?? []);
  if (targets.length !== shape.pods || found.nodes.length !== shape.pods) return undefined;
  const pools = poolsOf(capacity, mayUseReserve);
  const open = new Map(pools.at(-1)?.map((one) => [one.node.name, one]));
  const nodes = targets.map((target, pod): FabricNode | undefined => {
    const now = open.get(target.name);
    return now !== undefined && now.free >= ranksOfPod(shape, pod) && isInSamePlace(target, now.node)
      ? now.node
      : undefined;
  });
  const lost = nodes.flatMap((node, pod) => (node === undefined ? [pod] : []));
  if (lost.length === 0) return { nodes: found.nodes, ranksPerPod: found.ranksPerPod, moved: 0 };
  if (lost.length > Math.max(1, MOST_LOST * shape.pods)) return undefined;
  const kept = new Set(nodes.flatMap((node) => node?.name ?? []));
  const isSpare = ({ node, free }: OpenNode): boolean => free > 0 && !kept.has(node.name) && !avoided.has(node.name);
  const placeOf = placesFor(shape, capacity.fabric);
  const groups = pools.map((pool) => groupsOf(pool.filter(isSpare), placeOf));
  const filling: Filling = { shape, targets, nodes, pools: groups, taken: new Set(), members: membersBySwitch(nodes) };
  const blocks = new Set(lost.map((pod) => Math.floor(pod / shape.podsPerBlock)));
  if (![...blocks].every((block) => fillBlock(filling, block))) return undefined;
  const names = nodes.flatMap((node) => node?.name ?? []);
  return {
    nodes: names,
    ranksPerPod: found.ranksPerPod,
    moved: names.filter((name, pod) => name !== found.nodes[pod]).length,
  };
}

function byName(nodes: readonly FabricNode[]): ReadonlyMap<string, FabricNode> {
  return new Map(nodes.map((node) => [node.name, node]));
}

/** What is free outside the reserve, and then with the reserve if the gang may use it. */
function poolsOf(capacity: FabricCapacity, mayUseReserve: boolean): readonly (readonly OpenNode[])[] {
  const others = openNodes(capacity);
  return mayUseReserve && capacity.reserve !== undefined ? [others, openNodes(withoutReserve(capacity))] : [others];
}

/** Whether all is the same that says where a node is and what it connects to. */
function isInSamePlace(one: FabricNode, other: FabricNode): boolean {
  return (
    one === other ||
    (one.nvlinkDomain === other.nvlinkDomain &&
      one.nvlinkSubDomain === other.nvlinkSubDomain &&
      one.switches.length === other.switches.length &&
      one.switches.every((name, tier) => name === other.switches[tier]) &&
      likeness(one) === likeness(other))
  );
}

/** Equal for nodes that may stand in for each other wherever the rules of placement let one of them be, NVLink domains left out. */
function likeness({ island, gpuType = '', nicType = '', nicCount }: FabricNode): string {
  return [island, gpuType, nicType.toLowerCase(), nicCount ?? ''].join('\n');
}

/** Free nodes of one place that are alike, the tightest first. */
interface SpareGroup {
  readonly like: string;
  readonly nodes: readonly OpenNode[];
  /** Any of them. */
  readonly example: FabricNode;
}

interface Filling {
  readonly shape: GangShape;
  /** Of each pod the node that the search found, as it was then. */
  readonly targets: readonly FabricNode[];
  /** Of each pod its node; undefined: it has none yet. */
  readonly nodes: (FabricNode | undefined)[];
  readonly pools: readonly (readonly SpareGroup[])[];
  /** Spares that have a pod now. */
  readonly taken: Set<string>;
  /** Pods of the gang below each nearest switch. */
  readonly members: Map<string, number>;
}

/**
 * Names the place of a node. Pods that share tensor groups need one NVLink domain, so that a place is a domain. Of other pods the nodes below one switch
 * are equally near.
 */
function placesFor({ podsPerBlock }: GangShape, { nodes }: Fabric): (node: FabricNode) => string {
  const sizes = new Map<string, number>();
  for (const { nvlinkDomain } of nodes) sizes.set(nvlinkDomain, (sizes.get(nvlinkDomain) ?? 0) + 1);
  return ({ nvlinkDomain, switches }) => {
    if (podsPerBlock > 1) return nvlinkDomain;
    const domain = (sizes.get(nvlinkDomain) ?? 0) > 1 ? nvlinkDomain : '';
    return [domain, ...switches].join('\n');
  };
}

function groupsOf(spares: readonly OpenNode[], placeOf: (node: FabricNode) => string): readonly SpareGroup[] {
  const groups = Map.groupBy(spares, ({ node }) => `${likeness(node)}\n${placeOf(node)}`);
  return [...groups.values()].flatMap((members) => {
    const nodes = members.toSorted((one, other) => one.free - other.free || byText(one.node.name, other.node.name));
    const [first] = nodes;
    return first === undefined ? [] : [{ like: likeness(first.node), nodes, example: first.node }];
  });
}

/** Nodes for the pods of that block that have none; if their domain has none, for all of its pods. False if there are none. */
function fillBlock(filling: Filling, block: number): boolean {
  const { shape, nodes } = filling;
  const first = block * shape.podsPerBlock;
  const pods = Array.from({ length: Math.min(shape.podsPerBlock, shape.pods - first) }, (_, index) => first + index);
  const lost = pods.filter((pod) => nodes[pod] === undefined);
  const [beside] = pods.flatMap((pod) => nodes[pod] ?? []);
  if (beside === undefined) return fillPods(filling, lost, () => true);
  if (fillPods(filling, lost, ({ nvlinkDomain }) => nvlinkDomain === beside.nvlinkDomain)) return true;
  for (const pod of pods) nodes[pod] = undefined;
  return fillPods(filling, pods, () => true);
}

/** Gives all of these pods nodes of the nearest group that has room for them and is allowed. */
function fillPods(filling: Filling, pods: readonly number[], isAllowed: (node: FabricNode) => boolean): boolean {
  const { shape, targets, nodes, pools, taken, members } = filling;
  const [target] = pods.flatMap((pod) => targets[pod] ?? []);
  if (target === undefined) return false;
  const like = likeness(target);
  const needs = pods.map((pod) => ranksOfPod(shape, pod));
  for (const groups of pools) {
    const able = groups
      .filter((group) => group.like === like && isAllowed(group.example))
      .map(({ nodes: members, example }) => ({ example, free: members.filter(({ node }) => !taken.has(node.name)) }))
      .map((one) => ({ ...one, chosen: tightest(needs, one.free), near: nearness(target, one.example) }))
      .filter(({ chosen }) => chosen.length === needs.length);
    const membersAt = ({ example }: { readonly example: FabricNode }): number => members.get(leafOf(example)) ?? 0;
    const [best] = able.sort(
      (one, other) =>
        other.near - one.near ||
        membersAt(other) - membersAt(one) ||
        one.free.length - other.free.length ||
        byText(one.example.name, other.example.name),
    );
    if (best === undefined) continue;
    for (const [index, node] of best.chosen.entries()) {
      nodes[pods[index] ?? -1] = node;
      taken.add(node.name);
      members.set(leafOf(node), (members.get(leafOf(node)) ?? 0) + 1);
    }
    return true;
  }
  return false;
}

/** Nodes with room for so many ranks each, the tightest that will do; fewer if there is not room for all. */
function tightest(needs: readonly number[], free: readonly OpenNode[]): readonly FabricNode[] {
  const left = [...free];
  return needs.flatMap((need) => {
    const at = left.findIndex((one) => one.free >= need);
    return at < 0 ? [] : left.splice(at, 1).map(({ node }) => node);
  });
}

/** Larger for nodes that share more: first the NVLink domain, then switches. The name of a switch includes those above it. */
function nearness(one: FabricNode, other: FabricNode): number {
  if (one.nvlinkDomain === other.nvlinkDomain) return SAME_DOMAIN;
  const farthest = Math.min(one.switches.length, other.switches.length);
  for (let shared = farthest; shared > 0; shared -= 1) {
    if (one.switches.at(-shared) === other.switches.at(-shared)) return shared;
  }
  return 0;
}

/** Nearer than nodes that share any number of switches. */
const SAME_DOMAIN = 1_000;

function membersBySwitch(nodes: readonly (FabricNode | undefined)[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const node of nodes) if (node !== undefined) counts.set(leafOf(node), (counts.get(leafOf(node)) ?? 0) + 1);
  return counts;
}

function leafOf({ switches, nvlinkDomain }: FabricNode): string {
  return switches[0] ?? nvlinkDomain;
}

function ranksOfPod({ pods, ranksPerPod, lastPodRanks }: GangShape, pod: number): number {
  return pod === pods - 1 ? lastPodRanks : ranksPerPod;
}
