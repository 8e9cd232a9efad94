/** Which free nodes could take pods of a gang whose other pods stay where they are? */
import type { FabricNode } from '../nodes/fabric.ts';
import type { AcrossIslands } from '../traffic/gang-shape.ts';
import { byText } from './islands.ts';

/** A node and its number of free GPUs. */
export interface SpareNode {
  readonly node: FabricNode;
  readonly free: number;
}

/** Spares of one NVLink domain, tightest first, that can take all the pods asked for. */
export type SpareOffer = readonly SpareNode[];

/** Pods without nodes that share an NVLink domain. */
export interface Vacancy {
  /** Ranks of each of the pods. */
  readonly needs: readonly number[];
  /** Nodes of the pods that they share tensor groups with; empty: any domain will do. */
  readonly beside: readonly FabricNode[];
  /** Nodes of the pods before and after them: near those they were. */
  readonly next: readonly FabricNode[];
  /** Nodes of the pods that they share an island with. */
  readonly inRow: readonly FabricNode[];
  /** Nodes of all pods that have one. */
  readonly gang: readonly FabricNode[];
  /** Kinds of places that are worth costing, from the nearest on. */
  readonly mostOffers: number;
}

/**
 * One offer of each kind of place: those first that share most switches with the pods before and after, then those that do with nodes of the gang, then
 * those of the fullest domains.
 */
export function offersFor(
  vacancy: Vacancy,
  spares: readonly SpareNode[],
  acrossIslands: AcrossIslands,
): readonly SpareOffer[] {
  const isAllowed = allowedBy(vacancy, acrossIslands);
  const byDomain = Map.groupBy(
    spares.filter(({ node }) => isAllowed(node)),
    ({ node }) => `${node.nvlinkDomain}\n${acrossIslands === 'anyGroup' ? '' : node.island}`,
  );
  const [near, nearNext] = [nearness(vacancy.gang), nearness(vacancy.next)];
  const kindOf = kindsBeside(vacancy.gang);
  const kinds = new Set<string>();
  return [...byDomain.values()]
    .flatMap((members) => [members, ...bySwitches(members)])
    .map((members) => members.toSorted((one, other) => one.free - other.free || byText(one.node.name, other.node.name)))
    .filter((offer) => canTake(vacancy.needs, offer))
    .map((offer) => ({
      offer,
      next: nearNext(offer),
      near: near(offer),
      free: freeOf(offer),
      name: offer[0]?.node.name ?? '',
    }))
    .sort(
      (one, other) =>
        other.next - one.next || other.near - one.near || one.free - other.free || byText(one.name, other.name),
    )
    .filter(({ offer }) => {
      const kind = kindOf(offer);
      return kinds.has(kind) ? false : kinds.add(kind);
    })
    .slice(0, vacancy.mostOffers)
    .map(({ offer }) => offer);
}

/** Of a domain below several switches the nodes of each one: all together are an offer of the tightest. */
function bySwitches(members: readonly SpareNode[]): readonly (readonly SpareNode[])[] {
  if (members.length < 2) return [];
  const groups = [...Map.groupBy(members, ({ node }) => node.switches.join('\n')).values()];
  return groups.length < 2 ? [] : groups;
}

/** A spare for each of the pods: the tightest that holds it, the largest pods first, so that as many find one as can. */
export function tightestFor(needs: readonly number[], offer: SpareOffer): readonly FabricNode[] {
  const left = [...offer];
  const chosen = new Map<number, FabricNode>();
  for (const index of largestFirst(needs)) {
    const [taken] = left.splice(
      left.findIndex(({ free }) => free >= (needs[index] ?? 0)),
      1,
    );
    if (taken !== undefined) chosen.set(index, taken.node);
  }
  return needs.flatMap((_, index) => chosen.get(index) ?? []);
}

function canTake(needs: readonly number[], tightestFirst: SpareOffer): boolean {
  return largestFirst(needs).every((index, place) => (tightestFirst.at(-1 - place)?.free ?? 0) >= (needs[index] ?? 0));
}

function largestFirst(needs: readonly number[]): readonly number[] {
  return needs.map((_, index) => index).sort((one, other) => (needs[other] ?? 0) - (needs[one] ?? 0) || one - other);
}

/** The rules of placement, as far as the nodes that stay fix them. */
function allowedBy({ beside, inRow, gang }: Vacancy, acrossIslands: AcrossIslands): (node: FabricNode) => boolean {
  const [neighbour] = beside;
  const isNeighbour = ({ nvlinkDomain }: FabricNode): boolean =>
    neighbour === undefined || neighbour.nvlinkDomain === nvlinkDomain;
  if (acrossIslands === 'anyGroup') return isNeighbour;
  const known = gang.find(({ nicCount }) => nicCount !== undefined)?.nicCount;
  const [inIsland = acrossIslands === 'never' ? gang[0] : undefined] = inRow;
  const classOf = ({ nicType = '' }: FabricNode): string => nicType.toLowerCase();
  const classes = new Set(gang.map(classOf));
  return (node) =>
    isNeighbour(node) &&
    (known === undefined || node.nicCount === undefined || node.nicCount === known) &&
    (inIsland === undefined ? classes.size === 1 && classes.has(classOf(node)) : inIsland.island === node.island);
}

/** Offers of one kind cost the same: below the same switches, and in no domain that the gang has a part of. */
function kindsBeside(gang: readonly FabricNode[]): (offer: SpareOffer) => string {
  const domains = new Set(gang.map(({ nvlinkDomain }) => nvlinkDomain));
  return (offer) => {
    const [{ node } = { node: undefined }] = offer;
    const switches = [...new Set(offer.map((spare) => spare.node.switches.join('\n')))].sort(byText);
    const isShared = node !== undefined && domains.has(node.nvlinkDomain);
    return JSON.stringify([node?.island, switches, isShared ? node.nvlinkDomain : null]);
  };
}

/** How many nodes of the gang are below the same switches, near ones counting most. */
function nearness(gang: readonly FabricNode[]): (offer: SpareOffer) => number {
  const counts = new Map<string, number>();
  // A switch name includes those above it, so name and tier identify it.
  const namesOf = ({ switches, island }: FabricNode): readonly string[] => [
    ...switches.map((name, tier) => `${switches.length - tier}\n${name}`),
    `0\n${island}`,
  ];
  for (const node of gang) for (const name of namesOf(node)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return ([spare]) => {
    const names = spare === undefined ? [] : namesOf(spare.node);
    const tier = names.findIndex((name) => counts.has(name));
    return tier < 0 ? 0 : (names.length - tier) * NEARER + (counts.get(names[tier] ?? '') ?? 0);
  };
}

/** More than the nodes of a gang: a nearer switch counts more than any number of nodes below a farther one. */
const NEARER = 1_000_000;

function freeOf(offer: SpareOffer): number {
  return offer.reduce((sum, { free }) => sum + free, 0);
}
