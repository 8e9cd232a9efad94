/** Which free nodes can take the place of any node of a gang? */
import type { ParallelLayout } from '@coxswain/layout';
import { openNodes, type OpenNode } from '../capacity/open-nodes.ts';
import type { FabricCapacity, FabricNode } from '../nodes/fabric.ts';
import { gangShape } from '../traffic/gang-shape.ts';
import type { PlacedGang } from './replace.ts';

/** A placed gang, and how many standbys it is to have. */
export interface StandbyRequest {
  readonly layout: ParallelLayout;
  readonly gang: PlacedGang;
  readonly count: number;
  /** Nodes that failed the job. */
  readonly avoided: ReadonlySet<string>;
}

/** Nodes for standbys, and why there are fewer than wanted, in a sentence. */
export interface StandbyNodes {
  readonly nodes: readonly string[];
  readonly why?: string;
}

/**
 * Free nodes that differ from the nodes of the gang in nothing that its ranks depend on: island, GPUs, NICs. Those that share switches with most of the
 * gang come first. None if ranks of a tensor group are in several pods: then only a node of the same NVLink domain could stand in. Deterministic,
 * whatever the order of the fabric's nodes.
 */
export function standbyNodes(request: StandbyRequest, capacity: FabricCapacity): StandbyNodes {
  const { layout, gang, count, avoided } = request;
  if (count === 0) return { nodes: [] };
  if (gangShape(layout, gang.ranksPerPod).podsPerBlock > 1)
    return fewerStandbys(0, count, 'a tensor group of its layout spans several nodes of one NVLink domain');
  const names = new Set(gang.nodes);
  const members = capacity.fabric.nodes.filter(({ name }) => names.has(name));
  const kinds = new Set(members.map(kindOf));
  if (kinds.size !== 1) return fewerStandbys(0, count, 'its nodes differ from each other in island, GPUs or NICs');
  const isFit = ({ node, free }: OpenNode): boolean =>
    free >= gang.ranksPerPod && !names.has(node.name) && !avoided.has(node.name) && kinds.has(kindOf(node));
  const near = nearness(members);
  const fit = openNodes(capacity)
    .filter(isFit)
    .map(({ node }) => ({ name: node.name, shared: near(node) }))
    .toSorted((one, other) => other.shared - one.shared || (one.name < other.name ? -1 : 1));
  const nodes = fit.slice(0, count).map(({ name }) => name);
  return nodes.length === count
    ? { nodes }
    : { ...fewerStandbys(nodes.length, count, 'no other such node is free'), nodes };
}

/** Equal for nodes that can stand in for each other. */
function kindOf({ island, gpus, gpuType, nicType, nicSpeedGbps, nicCount }: FabricNode): string {
  return JSON.stringify([island, gpus, gpuType, nicType, nicSpeedGbps, nicCount]);
}

/** How many switches and members the node shares: each member counts once for each switch above both. */
function nearness(members: readonly FabricNode[]): (node: FabricNode) => number {
  const below = new Map<string, number>();
  for (const name of members.flatMap(({ switches }) => switches)) below.set(name, (below.get(name) ?? 0) + 1);
  return ({ switches }) => switches.reduce((sum, name) => sum + (below.get(name) ?? 0), 0);
}

/** No nodes, and the sentence that says why so many of `count` standbys were found. */
export function fewerStandbys(found: number, count: number, why: string): StandbyNodes & { readonly why: string } {
  return { nodes: [], why: `${found} of ${count} standby${count === 1 ? '' : 's'}: ${why}.` };
}
