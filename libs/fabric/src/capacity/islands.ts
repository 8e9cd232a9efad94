import type { FabricNode } from '../nodes/fabric.ts';
import type { GangShape } from '../traffic/gang-shape.ts';

/** Nodes of one NVLink domain within one island that can take a pod of the gang, tightest first. */
export interface DomainNodes {
  readonly domain: string;
  readonly freeGpus: number;
  /** Names of nodes that can take a full pod. */
  readonly full: readonly string[];
  /** Names of nodes that can take only the gang's smaller last pod. */
  readonly small: readonly string[];
}

/** Nodes of one island, by NVLink domain. */
export interface IslandNodes {
  readonly island: string;
  /** undefined: its nodes have NICs of several classes. */
  readonly nicClass: string | undefined;
  /** Tightest first, by free GPUs. */
  readonly domains: readonly DomainNodes[];
}

/** Nodes by island and domain, each list in an order that depends on the nodes alone. `freeGpus` says what a node could give. */
export function islandsFor(
  shape: GangShape,
  nodes: readonly FabricNode[],
  freeGpus: (node: FabricNode) => number,
): readonly IslandNodes[] {
  const able = nodes
    .map((node) => ({ node, free: freeGpus(node) }))
    .filter(({ free }) => free >= Math.min(shape.ranksPerPod, shape.lastPodRanks))
    .sort((left, right) => left.free - right.free || byText(left.node.name, right.node.name));
  const classOf = nicClassOfIsland(nodes);
  const islands = new Map<string, Map<string, OpenDomain>>();
  for (const { node, free } of able) {
    const domains = entryOf(islands, node.island, () => new Map<string, OpenDomain>());
    const domain = entryOf(domains, node.nvlinkDomain, () => ({ freeGpus: 0, full: [], small: [] }));
    domain.freeGpus += free;
    (free >= shape.ranksPerPod ? domain.full : domain.small).push(node.name);
  }
  return [...islands]
    .map(([island, domains]) => ({
      island,
      nicClass: classOf(island),
      domains: [...domains]
        .map(([domain, lists]) => ({ domain, ...lists }))
        .sort((left, right) => left.freeGpus - right.freeGpus || byText(left.domain, right.domain)),
    }))
    .sort((left, right) => byText(left.island, right.island));
}

/** The class of an island's NICs, in small letters; empty where no label tells, undefined where its nodes differ. */
function nicClassOfIsland(nodes: readonly FabricNode[]): (island: string) => string | undefined {
  const classes = new Map<string, string | undefined>();
  for (const { island, nicType = '' } of nodes) {
    const nicClass = nicType.toLowerCase();
    classes.set(island, classes.has(island) && classes.get(island) !== nicClass ? undefined : nicClass);
  }
  return (island) => classes.get(island);
}

interface OpenDomain {
  freeGpus: number;
  readonly full: string[];
  readonly small: string[];
}

/** Compares by code units, so that the order does not depend on the locale. */
export function byText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function entryOf<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const created = create();
  map.set(key, created);
  return created;
}
