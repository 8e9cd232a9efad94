import type { FabricNode } from '../nodes/fabric.ts';
import type { AcrossIslands, GangShape } from '../traffic/gang-shape.ts';
import { byText } from '../capacity/islands.ts';
import type { OpenNode } from '../capacity/open-nodes.ts';
import { BOUNDARY_WEIGHTS } from '../traffic/boundary-weights.ts';
import type { Boundary } from '../traffic/traffic.ts';

/** What the boundaries of a tree's levels are called, near to far; bytes of two units that part at the root cross them all. */
export const TREE_LEVELS = ['nvlinkDomain', 'leaf', 'spine', 'core', 'island'] as const satisfies readonly Boundary[];

/** Cost of a byte between two units whose nearest common switch is of this level; one more for the root. */
export const COST_WITHIN_LEVEL: readonly number[] = [0, ...TREE_LEVELS].map((_, level) =>
  TREE_LEVELS.slice(0, level).reduce((sum, boundary) => sum + BOUNDARY_WEIGHTS[boundary], 0),
);

/** Whole units for which a switch and all below it have room. */
export interface SwitchNode {
  /** Index into TREE_LEVELS; the root stands above them. */
  readonly level: number;
  readonly room: number;
  /** Units that it would hold with every node free. */
  readonly wholeRoom: number;
  /** The same number: the same room, divided in the same way, so that whatever is best on one is best on the other. */
  readonly kind: number;
  readonly children: readonly SwitchNode[];
  /** Of those without children. */
  readonly bin?: Bin;
}

/** Nodes among which units are alike: an NVLink domain, or those below one leaf whose domains hold one unit each. */
export interface Bin {
  readonly index: number;
  /** 0: units here share an NVLink domain. 1: a leaf. */
  readonly level: number;
  readonly room: number;
  /** Nodes of each unit that it could take, tightest first. */
  readonly slots: readonly (readonly string[])[];
  /** GPUs that stay unused on the nodes of the first `n` slots. */
  readonly leftGpus: readonly number[];
}

/** The switches of a fabric as one tree, whose leaves are bins of nodes. */
export interface SwitchTree {
  readonly root: SwitchNode;
  readonly bins: readonly Bin[];
  /** Index of a bin's switch at each level, so that two bins' nearest common switch can be found. */
  readonly above: readonly Int32Array[];
}

/** Nodes with the same answer count as one NVLink domain. */
export type DomainOf = (node: FabricNode) => string;

/** The NVLink domain as it is labelled, even if its members lie in several islands. */
export const wholeDomain: DomainOf = ({ nvlinkDomain }) => nvlinkDomain;

const domainInIsland: DomainOf = ({ nvlinkDomain, island }) => `${nvlinkDomain}\n${island}`;

/** A domain whose members lie in several islands is several, where no gang may lie in more than one. */
export function domainsWithin(acrossIslands: AcrossIslands): DomainOf {
  return acrossIslands === 'never' ? domainInIsland : wholeDomain;
}

/** So is one whose members say different switches. */
export const domainBelowSwitches: DomainOf = (node) =>
  `${domainInIsland(node)}\n${node.switches.map((name) => name ?? '').join('\n')}`;

/** Whether members of one such domain say different switches, as a node does that has been labelled in part. */
export function areDomainsSplit(nodes: readonly FabricNode[], domainOf: DomainOf): boolean {
  return new Set(nodes.map(domainOf)).size < new Set(nodes.map(domainBelowSwitches)).size;
}

/**
 * The switches above nodes that can take a full pod of the gang. Members of an NVLink domain meet there, so switches that share a domain are taken for
 * one: their tree then never says that something crosses which does not.
 */
export function switchTree(shape: GangShape, open: readonly OpenNode[], domainOf: DomainOf = wholeDomain): SwitchTree {
  const able = open
    .filter(({ node, free }) => free > 0 || node.gpus >= shape.ranksPerPod)
    .sort((left, right) => left.free - right.free || byText(left.node.name, right.node.name));
  const keys = keysOfLevels(
    able.map(({ node }) => node),
    domainOf,
  );
  const builder: Builder = { shape, keys, bins: [], kinds: new Map() };
  const all = able.map((one, at) => ({ ...one, at }));
  const root = below(builder, all, TREE_LEVELS.length);
  return { root, bins: builder.bins, above: levelsAbove(root, builder.bins.length) };
}

interface Placed extends OpenNode {
  readonly at: number;
}

interface Builder {
  readonly shape: GangShape;
  readonly keys: readonly (readonly string[])[];
  readonly bins: Bin[];
  readonly kinds: Map<string, number>;
}

function kindOf({ kinds }: Builder, words: string): number {
  const known = kinds.get(words) ?? kinds.size;
  kinds.set(words, known);
  return known;
}

function below(builder: Builder, nodes: readonly Placed[], level: number): SwitchNode {
  const groups = Map.groupBy(nodes, ({ at }) => builder.keys[level - 1]?.[at] ?? '');
  const sorted = [...groups].sort(([left], [right]) => byText(left, right)).map(([, members]) => members);
  const children = level === 1 ? binsOf(builder, sorted) : sorted.map((members) => below(builder, members, level - 1));
  const { room, wholeRoom } = roomOf(children);
  const kinds = children.filter((child) => child.room > 0).map(({ kind }) => kind);
  return { level, children, room, wholeRoom, kind: kindOf(builder, `${level}/${wholeRoom}: ${kinds.join()}`) };
}

function roomOf(children: readonly SwitchNode[]): Pick<SwitchNode, 'room' | 'wholeRoom'> {
  return {
    room: children.reduce((sum, child) => sum + child.room, 0),
    wholeRoom: children.reduce((sum, child) => sum + child.wholeRoom, 0),
  };
}

/** Domains that hold several units by themselves, and all others of the leaf together. */
function binsOf(builder: Builder, domains: readonly (readonly Placed[])[]): readonly SwitchNode[] {
  const { podsPerBlock, ranksPerPod } = builder.shape;
  const sized = domains.map((nodes) => {
    const able = nodes.filter(({ free }) => free >= ranksPerPod);
    const whole = nodes.filter(({ node, free }) => Math.max(node.gpus, free) >= ranksPerPod).length;
    return { able, room: Math.floor(able.length / podsPerBlock), wholeRoom: Math.floor(whole / podsPerBlock) };
  });
  const single = sized.filter(({ wholeRoom }) => wholeRoom === 1);
  return [...sized.filter(({ wholeRoom }) => wholeRoom > 1).map((one) => [one]), single]
    .filter((group) => group.length > 0)
    .map((group) => binOf(builder, group));
}

interface SizedDomain {
  readonly able: readonly Placed[];
  readonly room: number;
  readonly wholeRoom: number;
}

function binOf(builder: Builder, domains: readonly SizedDomain[]): SwitchNode {
  const { shape, bins } = builder;
  const level = (domains[0]?.wholeRoom ?? 0) > 1 ? 0 : 1;
  const slots = domains
    .flatMap(({ able, room }) =>
      Array.from({ length: room }, (_, slot) => able.slice(slot * shape.podsPerBlock, (slot + 1) * shape.podsPerBlock)),
    )
    .map((nodes) => ({ nodes, left: nodes.reduce((sum, { free }) => sum + free - shape.ranksPerPod, 0) }))
    .sort((one, other) => one.left - other.left);
  const leftGpus = [0];
  for (const { left } of slots) leftGpus.push((leftGpus.at(-1) ?? 0) + left);
  const names = slots.map(({ nodes }) => nodes.map(({ node }) => node.name));
  const bin = { index: bins.length, level, room: slots.length, slots: names, leftGpus };
  bins.push(bin);
  const wholeRoom = domains.reduce((sum, domain) => sum + domain.wholeRoom, 0);
  const kind = kindOf(builder, `bin ${level}/${wholeRoom}: ${leftGpus.join()}`);
  return { level: 0, room: slots.length, wholeRoom, kind, children: [], bin };
}

/** Names of each node's domain and switches, from the domain up; each includes the names above it. */
function keysOfLevels(nodes: readonly FabricNode[], domainOf: DomainOf): readonly (readonly string[])[] {
  const mostTiers = nodes.reduce((most, { switches }) => Math.max(most, switches.length), 0);
  const tier = ({ name, switches }: FabricNode, at: number): string =>
    at < mostTiers ? (switches[at] ?? `\n${switches.at(-1) ?? name}`) : '';
  const island = nodes.map((node) => node.island);
  const core = nodes.map((node, at) => `${island[at] ?? ''}\n${tier(node, 2)}`);
  const spine = nodes.map((node, at) => `${core[at] ?? ''}\n${tier(node, 1)}`);
  const leaf = nodes.map((node, at) => `${spine[at] ?? ''}\n${tier(node, 0)}`);
  return joined([nodes.map(domainOf), leaf, spine, core, island]);
}

/** Each level's names, where those that share a name of the level below have one name too. */
function joined(levels: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const [nearest = [], ...farther] = levels;
  const result = [nearest];
  for (const names of farther) result.push(unionOf(names, result.at(-1) ?? []));
  return result;
}

function unionOf(names: readonly string[], nearer: readonly string[]): readonly string[] {
  const parent = new Map<string, string>();
  const rootOf = (name: string): string => {
    let root = name;
    while (true) {
      const next = parent.get(root) ?? root;
      if (next === root) return root;
      root = next;
    }
  };
  const nameOfNearer = new Map<string, string>();
  names.forEach((name, at) => {
    const below = nearer[at] ?? '';
    const one = rootOf(name);
    const other = rootOf(nameOfNearer.get(below) ?? name);
    nameOfNearer.set(below, name);
    if (one !== other) parent.set(one < other ? other : one, one < other ? one : other);
  });
  return names.map(rootOf);
}

function levelsAbove(root: SwitchNode, bins: number): readonly Int32Array[] {
  const above = [...TREE_LEVELS, 'root'].map(() => new Int32Array(bins));
  let next = 0;
  const walk = (node: SwitchNode): readonly number[] => {
    const index = next++;
    const inside = node.bin === undefined ? node.children.flatMap(walk) : [node.bin.index];
    const marks = above[node.level];
    if (marks !== undefined) for (const bin of inside) marks[bin] = index;
    return inside;
  };
  walk(root);
  return above;
}
