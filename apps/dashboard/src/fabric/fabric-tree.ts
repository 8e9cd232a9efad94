import type { ClusterFabric, FabricHardware, FabricPlace } from '@coxswain/api-types';
import { namedSwitch, ownNameOf } from '@coxswain/fabric';

/** A node of the fabric, with who holds its GPUs. */
export interface FabricPageNode {
  readonly index: number;
  readonly name: string;
  readonly gpus: number;
  readonly isUsable: boolean;
  readonly place: FabricPlace;
  readonly hardware: FabricHardware;
  /** Indexes of jobs, and how many GPUs each holds. */
  readonly holds: readonly Hold[];
  /** Of jobs. Can be more than it has, where two placements claim the same GPUs. */
  readonly takenGpus: number;
  /** Of pods that belong to no job; undefined: unknown. */
  readonly othersGpus: number | undefined;
}

export interface Hold {
  readonly job: number;
  readonly gpus: number;
}

/** A switch that a label names. */
export interface NamedSwitch {
  /** The way down to it, which no other switch has. */
  readonly id: string;
  /** As people call it: two switches may be called alike. */
  readonly name: string;
}

/** Nodes below one leaf of one spine of one island, in order of NVLink domain and name. */
export interface LeafGroup {
  readonly island: string;
  /** Undefined if unknown. */
  readonly spine: NamedSwitch | undefined;
  readonly leaf: NamedSwitch | undefined;
  readonly nodes: readonly FabricPageNode[];
}

export interface IslandTree {
  readonly island: string;
  readonly leaves: readonly LeafGroup[];
}

/** GPUs of some nodes: each is free, taken by a job or by pods of others, or on a node that takes no jobs. */
export interface GpuCounts {
  readonly nodes: number;
  readonly free: number;
  readonly taken: number;
  readonly others: number;
  readonly unusable: number;
}

/** The nodes in the order of the answer. */
export function nodesOf({ nodes, places, hardware, jobs }: ClusterFabric): readonly FabricPageNode[] {
  const holds = new Map<number, Hold[]>();
  for (const [job, { nodes: held, gpus }] of jobs.entries()) {
    for (const [pod, node] of held.entries()) {
      const onNode = holds.get(node) ?? [];
      onNode.push({ job, gpus: gpus[pod] ?? 0 });
      holds.set(node, onNode);
    }
  }
  return nodes.names.map((name, index) => {
    const held = holds.get(index) ?? [];
    return {
      index,
      name,
      gpus: nodes.gpus[index] ?? 0,
      isUsable: nodes.usable[index] ?? false,
      place: places[nodes.places[index] ?? -1] ?? UNKNOWN_PLACE,
      hardware: hardware[nodes.hardware[index] ?? -1] ?? UNKNOWN_HARDWARE,
      holds: held,
      takenGpus: held.reduce((sum, { gpus }) => sum + gpus, 0),
      othersGpus: nodes.heldByOthers?.[index],
    };
  });
}

const UNKNOWN_PLACE: FabricPlace = { island: 'unlabelled', nvlinkDomain: null, switches: [] };
const UNKNOWN_HARDWARE: FabricHardware = {
  gpuType: null,
  nicType: null,
  nicSpeedGbps: null,
  nicCount: null,
  readFrom: [],
};

/** Island, then spine, then leaf, each in order of its name with numbers counted as numbers. */
export function treeOf(nodes: readonly FabricPageNode[]): readonly IslandTree[] {
  const byIsland = Map.groupBy(nodes, ({ place }) => place.island);
  return sortedBy([...byIsland], ([island]) => island).map(([island, members]) => {
    const byLeaf = Map.groupBy(
      members,
      ({ place }) => `${namedAt(place, 1)?.id ?? ''}\n${namedAt(place, 0)?.id ?? ''}`,
    );
    return {
      island,
      leaves: sortedBy([...byLeaf], ([key]) => key).map(([, below]) => leafOf(island, below)),
    };
  });
}

function leafOf(island: string, below: readonly FabricPageNode[]): LeafGroup {
  const { place = UNKNOWN_PLACE } = below[0] ?? {};
  return {
    island,
    spine: namedAt(place, 1),
    leaf: namedAt(place, 0),
    nodes: sortedBy(below, ({ name, place: { nvlinkDomain } }) => `${nvlinkDomain ?? ''}\n${name}`),
  };
}

function namedAt({ switches }: FabricPlace, tier: number): NamedSwitch | undefined {
  const id = namedSwitch(switches, tier);
  return id === undefined ? undefined : { id, name: ownNameOf(id) };
}

const COMPARE = new Intl.Collator('en', { numeric: true }).compare;

function sortedBy<T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] {
  return items
    .map((item) => ({ item, key: keyOf(item) }))
    .sort((one, other) => COMPARE(one.key, other.key))
    .map(({ item }) => item);
}

/** GPUs that no pod holds, whether the node takes jobs or not. */
export function freeGpusOf({ gpus, takenGpus, othersGpus = 0 }: FabricPageNode): number {
  return Math.max(0, gpus - takenGpus - othersGpus);
}

export function countGpus(nodes: readonly FabricPageNode[]): GpuCounts {
  let [free, taken, others, unusable] = [0, 0, 0, 0];
  for (const node of nodes) {
    const held = Math.min(node.gpus, node.takenGpus);
    const ofOthers = Math.min(node.gpus - held, node.othersGpus ?? 0);
    taken += held;
    others += ofOthers;
    if (node.isUsable) free += freeGpusOf(node);
    else unusable += node.gpus - held - ofOthers;
  }
  return { nodes: nodes.length, free, taken, others, unusable };
}
