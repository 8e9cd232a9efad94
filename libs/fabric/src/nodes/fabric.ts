/** The graph of a cluster as placement sees it: nodes with GPUs, the NVLink domain and the NIC island each belongs to. */

/** What an adapter reads from a Kubernetes Node. */
export interface NodeFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Allocatable GPUs. */
  readonly gpuCapacity: number;
  /** What it says that it has of them where that is no number that a node can have: it counts as having none. */
  readonly unreadGpus?: string;
  /** Not cordoned, and without a taint that a gang's pod does not tolerate. */
  readonly schedulable: boolean;
  readonly isCordoned?: true;
  /** Those that every gang's pods do not tolerate; absent where there are none. */
  readonly taints?: readonly Taint[];
  /** What it has of other devices, such as NICs, by resource name; absent where it has none. */
  readonly devices?: Readonly<Record<string, number>>;
  /** Attributes of the devices that DRA drivers publish for it; absent where none are known. */
  readonly draDevices?: readonly DraAttributes[];
  /** What the Fabric resource says of it, by the keys of our labels, before whatever its labels say; absent where nothing. */
  readonly overrides?: Readonly<Record<string, string>>;
  readonly ready: boolean;
}

/** Of one device of a ResourceSlice, such as `dra.net/rdma`. */
export type DraAttributes = Readonly<Record<string, string | number | boolean>>;

/** A taint of a node that keeps pods away. */
export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

/** Why a node takes no pods of gangs. One that is not ready may be cordoned and tainted as well. */
export type WhyUnusable = 'notReady' | 'cordoned' | 'tainted' | 'cordonedAndTainted';

/** A node that has GPUs. Names of domains and islands carry the producer of the label, so that two producers never name the same one. */
export interface FabricNode {
  readonly name: string;
  readonly gpus: number;
  /** GPUs of one domain reach each other over NVLink. Unlabelled: the node is a domain of its own. */
  readonly nvlinkDomain: string;
  /** A part of the domain whose GPUs are nearer still. */
  readonly nvlinkSubDomain?: string;
  /** Nodes of one island reach each other over the same NIC fabric. All unlabelled nodes form one island. */
  readonly island: string;
  /**
   * Switches above the node, near to far: leaf, spine, core and what lies beyond. Two nodes share a switch exactly if they name it alike, and
   * then share all farther ones too, because a name includes those above it. Empty if the node's place is unknown.
   */
  readonly switches: readonly string[];
  /** infiniband, roce, ethernet, or what else the label says. */
  readonly nicType?: string;
  /** Of one NIC. */
  readonly nicSpeedGbps?: number;
  readonly nicCount?: number;
  /** As the label spells it, such as NVIDIA-H100-80GB-HBM3. */
  readonly gpuType?: string;
  /** Ready and schedulable. An unusable node counts for what the cluster could hold, not for what is free. */
  readonly usable: boolean;
  /** Absent where it is usable, or left out for reasons of a job's own. */
  readonly whyUnusable?: WhyUnusable;
  /** Where each fact was read: the key of a label, of a DRA attribute or of a device resource. Facts that nobody states have none. */
  readonly readFrom?: Provenance;
}

/** Facts of a node for which {@link Provenance} can name a source. */
export const FABRIC_FACTS = [
  'nvlinkDomain',
  'nvlinkSubDomain',
  'island',
  'switches',
  'nicType',
  'nicSpeedGbps',
  'nicCount',
  'gpuType',
] as const;
/** One entry of {@link FABRIC_FACTS}. */
export type FabricFact = (typeof FABRIC_FACTS)[number];
/** Key of the label, attribute or resource that each fact of a node comes from. */
export type Provenance = Readonly<Partial<Record<FabricFact, string>>>;

/** Nodes sorted by name. */
export interface Fabric {
  readonly nodes: readonly FabricNode[];
}

/** Whole nodes that gangs leave free, to stand in for ones that fail. Absent: none. */
export interface Reserve {
  /** In each NVLink domain of more nodes than that. */
  readonly nodesPerNvlinkDomain?: number | undefined;
  /** Of each type of GPU in each island that has more of them than that; those of its NVLink domains count. */
  readonly nodesPerIsland?: number | undefined;
}

/** A fabric and how many of each node's GPUs are taken, by bound pods and by recorded placements. A node without an entry is free. */
export interface FabricCapacity {
  readonly fabric: Fabric;
  readonly usedGpus: ReadonlyMap<string, number>;
  /** What is kept free for gangs whose nodes fail; absent: nothing. */
  readonly reserve?: Reserve;
  /** Why nodes with GPUs are not in the fabric, in a sentence; absent where all are. */
  readonly leftOut?: string;
}

/** Taken ones too. */
export function gpusOf(nodes: readonly FabricNode[]): number {
  return nodes.reduce((sum, { gpus }) => sum + gpus, 0);
}
