import { packWithin } from '../capacity/across-islands.ts';
import { arrange } from '../arrange/arrange.ts';
import { bestOfAll, canTryAll } from './best-placement.ts';
import { weightedBytes } from '../traffic/boundary-weights.ts';
import { crossingBytes } from '../traffic/crossing-bytes.ts';
import type { Fabric } from '../nodes/fabric.ts';
import type { AcrossIslands, GangShape } from '../traffic/gang-shape.ts';
import { byText, islandsFor } from '../capacity/islands.ts';
import { openByType } from '../capacity/open-by-type.ts';
import { freeGpusOf, type OpenNode } from '../capacity/open-nodes.ts';
import { areDomainsSplit, domainBelowSwitches, type DomainOf, domainsWithin } from '../units/switch-tree.ts';
import type { LayoutTraffic } from '../traffic/traffic.ts';

/** The gang to place, its traffic and the nodes that it may use. */
export interface PlacementQuestion {
  readonly shape: GangShape;
  readonly traffic: LayoutTraffic;
  readonly acrossIslands: AcrossIslands;
  readonly open: readonly OpenNode[];
  /** By which crossing bytes are judged. */
  readonly fabric: Fabric;
}

/**
 * The nodes, pod by pod, of the placement with the fewest weighted bytes that is found; undefined exactly when there is none. GPUs of one type, unless
 * no type has enough.
 */
export function leastCrossing(question: PlacementQuestion): readonly string[] | undefined {
  const found = openByType(question).flatMap((open) => placementsOn({ ...question, open }));
  return cheapest(question, found);
}

/** The tightest packing, which is there whenever any placement is, and what was found by looking at bytes. */
function placementsOn(question: PlacementQuestion): readonly (readonly string[])[] {
  const { shape, open, acrossIslands } = question;
  const nodes = open.map(({ node }) => node);
  const packed = packWithin(acrossIslands, shape, nodes, freeGpusOf(open));
  if (packed === undefined) return [];
  const within = withinIslandsOf(question, packed);
  const arranged = partings(within).flatMap((domainOf) => {
    const nodes = arrange({ ...within, domainOf });
    return nodes !== undefined && keepsTogether(within, nodes) ? [nodes] : [];
  });
  const apart = shape.lastPodRanks < shape.ranksPerPod ? withLastPodApart(within) : [];
  const found = [...arranged, packed, ...apart];
  return [...found, ...betterOfFewPods(within, found)];
}

/** Each try prices the beginning of a placement; some ten thousand take a tenth of a second. */
const MOST_TRIES = 5_000;

/** One that is cheaper than these, of a gang of so few pods that all placements can be looked at: what cuts stages is no grid of units for the search. */
function betterOfFewPods(
  question: PlacementQuestion,
  found: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  if (!canTryAll(question)) return [];
  const known = Math.min(...found.map((nodes) => placementCost(question, nodes)));
  const { nodes } = bestOfAll({ ...question, known }, MOST_TRIES);
  return nodes !== undefined && keepsTogether(question, nodes) ? [nodes] : [];
}

/**
 * What counts as a domain in a search. If members of a domain report different switches, these switches are one for the search, which then takes far
 * nodes for near ones. So the search also runs with the switches apart, and the cheaper result counts.
 */
function partings({ shape, open, acrossIslands }: PlacementQuestion): readonly DomainOf[] {
  const widest = domainsWithin(acrossIslands);
  const nodes = open.filter(({ free }) => free >= shape.ranksPerPod).map(({ node }) => node);
  return areDomainsSplit(nodes, widest) ? [widest, domainBelowSwitches] : [widest];
}

/** As the packing that fits: in one island if one holds the gang, else in those that may be joined to the ones that it took. */
function withinIslandsOf(question: PlacementQuestion, packed: readonly string[]): PlacementQuestion {
  const { shape, open, acrossIslands } = question;
  const taken = new Set(packed);
  const islandsTaken = new Set(open.filter(({ node }) => taken.has(node.name)).map(({ node }) => node.island));
  if (islandsTaken.size <= 1) return { ...question, acrossIslands: 'never' };
  if (acrossIslands === 'anyGroup') return question;
  const islands = islandsFor(
    shape,
    open.map(({ node }) => node),
    freeGpusOf(open),
  );
  const nicClass = islands.find(({ island }) => islandsTaken.has(island))?.nicClass;
  const alike = new Set(islands.filter((one) => one.nicClass === nicClass).map(({ island }) => island));
  return { ...question, open: open.filter(({ node }) => alike.has(node.island)) };
}

/** Each such place costs a search. */
const MOST_PLACES_OF_LAST_POD = 8;

/** Placements whose smaller last pod is on a node that is too small for the others: of nodes that have the same place on the tightest one. */
function withLastPodApart(question: PlacementQuestion): readonly (readonly string[])[] {
  const { ranksPerPod, lastPodRanks } = question.shape;
  const domainOf = domainsWithin(question.acrossIslands);
  const able = question.open
    .filter(({ free }) => free >= lastPodRanks && free < ranksPerPod)
    .sort((left, right) => left.free - right.free || byText(left.node.name, right.node.name));
  const inDomain = Map.groupBy(question.open, ({ node }) => node.nvlinkDomain);
  const places = Map.groupBy(able, ({ node: { nvlinkDomain, island, switches } }) =>
    JSON.stringify([inDomain.get(nvlinkDomain)?.length === 1 ? null : nvlinkDomain, island, switches]),
  );
  return [...places.values()].slice(0, MOST_PLACES_OF_LAST_POD).flatMap(([small]) => {
    if (small === undefined) return [];
    const open = question.open.map((one) => (one === small ? { ...one, free: ranksPerPod } : one));
    const nodes = [...(arrange({ ...question, open, domainOf }) ?? [])];
    const at = nodes.indexOf(small.node.name);
    if (at >= 0) [nodes[at], nodes[nodes.length - 1]] = [nodes.at(-1) ?? '', small.node.name];
    return nodes.length > 0 && keepsTogether(question, nodes) ? [nodes] : [];
  });
}

function cheapest(
  question: PlacementQuestion,
  placements: readonly (readonly string[])[],
): readonly string[] | undefined {
  if (placements.length <= 1) return placements[0];
  const costed = placements.map((nodes) => ({ nodes, cost: placementCost(question, nodes) }));
  return costed.reduce((best, one) => (one.cost < best.cost * (1 - 1e-9) ? one : best)).nodes;
}

/** Weighted bytes of a placement. */
export function placementCost(
  { shape, traffic, fabric }: Pick<PlacementQuestion, 'shape' | 'traffic' | 'fabric'>,
  nodes: readonly string[],
): number {
  const nodeOfRank = Array.from(
    { length: shape.worldSize },
    (_, rank) => nodes[Math.floor(rank / shape.ranksPerPod)] ?? '',
  );
  return weightedBytes(crossingBytes(traffic, nodeOfRank, fabric));
}

/** Whether blocks are in one domain each, and rows or the whole gang in one island where they must be. Not so where a domain lies in two islands. */
function keepsTogether({ shape, fabric, acrossIslands }: PlacementQuestion, nodes: readonly string[]): boolean {
  const byName = new Map(fabric.nodes.map((node) => [node.name, node]));
  const alike = (podsPerRun: number, keyOf: (name: string) => string | undefined): boolean =>
    nodes.every((name, pod) => keyOf(name) === keyOf(nodes[pod - (pod % podsPerRun)] ?? ''));
  const podsPerIsland = { never: shape.pods, pipeline: shape.blocksPerRow * shape.podsPerBlock, anyGroup: 1 };
  return (
    alike(shape.podsPerBlock, (name) => byName.get(name)?.nvlinkDomain) &&
    alike(podsPerIsland[acrossIslands], (name) => byName.get(name)?.island)
  );
}
