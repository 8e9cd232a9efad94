import { NODE_LABELS } from '@coxswain/api-types';

/**
 * The labels that topology producers write about a node's place, as data. A key names a label, or a DRA attribute on which all devices of a node
 * agree. Read in NVIDIA/topograph e2b6250 (docs/engines/k8s.md), its documentation of 0.x and 1.x, GPU feature discovery and
 * k8s-device-plugin. AWS: "topology.k8s.aws" as in Kueue's and NFD's documentation. OCI: oke-topology-aware guide and oci-hpc-oke. Google: "Schedule
 * GKE workloads with Topology Aware Scheduling". CoreWeave: "InfiniBand and RoCE labels". kubernetes-sigs/dranet: docs of its attributes.
 */

/** The most tiers that are read: no fabric has more, and labels could name any number. */
export const MAX_TIERS = 8;

/** The label keys with which one producer names switches. */
export interface SwitchDialect {
  readonly producer: string;
  /** Near to far. Of the keys of one tier the first that a node carries counts. */
  readonly tiers: readonly (readonly string[])[];
  /**
   * Keys that name a whole NIC fabric, most trusted first: what is below one value of it is an island. Only a key that its producer documents as the
   * border of the network belongs here. The outermost tier is no such key by itself.
   */
  readonly roots: readonly string[];
  /** The producer documents that its NICs reach each other in one zone at most, and no label names a smaller network. */
  readonly border?: 'zone';
  /** Index of the tier that is the leaf switch, where nearer ones say in which rack a node stands; absent: the first. */
  readonly leaf?: number;
  /** Values are names of switches, whatever the tier; absent: they may be numbers that each tier counts anew. */
  readonly names?: 'ofSwitches';
}

const tierKeys = (prefix: string): readonly string[] =>
  Array.from({ length: MAX_TIERS }, (_, tier) => `${prefix}${tier}`);

const OURS = tierKeys(NODE_LABELS.switchTierPrefix);
const TOPOGRAPH = tierKeys('fabric.topograph.run/tier-');

/**
 * Most trusted first; a node is described by the first one that it carries. A tree of two tiers has no root: the uppermost switches of a leaf-spine
 * fabric are joined by what nobody labels.
 *
 * Google's host is none of the switches, since a machine with GPUs fills its host; nor is CoreWeave's rack, which says where a machine stands.
 */
export const SWITCH_DIALECTS: readonly SwitchDialect[] = [
  { producer: 'coxswain', tiers: OURS.map((key) => [key]), roots: [] },
  {
    producer: 'topograph',
    tiers: TOPOGRAPH.map((key) => [key]),
    roots: TOPOGRAPH.slice(2).reverse(),
    names: 'ofSwitches',
  },
  {
    producer: 'topograph-0',
    tiers: [
      ['network.topology.nvidia.com/leaf', 'network.topology.nvidia.com/block'],
      ['network.topology.nvidia.com/spine'],
      ['network.topology.nvidia.com/core', 'network.topology.nvidia.com/datacenter'],
    ],
    roots: ['network.topology.nvidia.com/core', 'network.topology.nvidia.com/datacenter'],
    names: 'ofSwitches',
  },
  {
    producer: 'aws',
    tiers: [
      ['topology.k8s.aws/network-node-layer-3'],
      ['topology.k8s.aws/network-node-layer-2'],
      ['topology.k8s.aws/network-node-layer-1'],
    ],
    // Layers say how near instances are. "EFA isn't supported over different availability zones" (AWS ParallelCluster guide, Elastic Fabric Adapter).
    roots: [],
    border: 'zone',
  },
  {
    producer: 'oci',
    leaf: 1,
    tiers: [
      ['oci.oraclecloud.com/host.rack_id', 'oke.dra.net/rackId'],
      ['oci.oraclecloud.com/rdma.local_block_id', 'oke.dra.net/localBlockId'],
      [
        'oci.oraclecloud.com/rdma.network_block_id',
        'oci.oraclecloud.com/host.network_block_id',
        'oke.dra.net/networkBlockId',
      ],
      ['oci.oraclecloud.com/rdma.hpc_island_id', 'oke.dra.net/hpcIslandId'],
    ],
    // An HPC island holds several network blocks, and a cluster network may use any of them (ClusterConfigurationDetails of the Core Services API).
    roots: ['oci.oraclecloud.com/rdma.hpc_island_id', 'oke.dra.net/hpcIslandId'],
  },
  {
    producer: 'google',
    tiers: [['cloud.google.com/gce-topology-subblock'], ['cloud.google.com/gce-topology-block']],
    // "Within a cluster, the east to west networking is non-blocking for the entire collection of blocks" (AI Hypercomputer terminology); no label names
    // the cluster. A VPC network for RDMA is limited to one zone (RDMA network profiles, zonal constraint).
    roots: [],
    border: 'zone',
  },
  {
    // A fabric is "a distinct InfiniBand or RoCE fabric" (InfiniBand and RoCE labels).
    producer: 'coreweave',
    tiers: [
      ['backend.coreweave.cloud/leafgroup', 'ib.coreweave.cloud/leafgroup'],
      ['backend.coreweave.cloud/superpod', 'ib.coreweave.cloud/superpod'],
      ['backend.coreweave.cloud/fabric', 'ib.coreweave.cloud/fabric'],
    ],
    roots: ['backend.coreweave.cloud/fabric', 'ib.coreweave.cloud/fabric'],
  },
  {
    // A partition is an isolated InfiniBand network (topograph, Crusoe provider).
    producer: 'crusoe',
    tiers: [['crusoe.ai/pod.id'], ['crusoe.ai/ib.partition.id']],
    roots: ['crusoe.ai/ib.partition.id'],
  },
  // InfiniBand connects the machines of one placement group (Azure, `singlePlacementGroup` of scale sets for HPC).
  { producer: 'azure', tiers: [['azure.dra.net/placementGroupId']], roots: ['azure.dra.net/placementGroupId'] },
];

/** Kubernetes' own places, near to far: beyond the switches of every producer. A zone is an island only where it is the border of a NIC network. */
export const PLACE_LABELS = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'] as const;
/** The zone among {@link PLACE_LABELS}. */
export const ZONE_LABEL = PLACE_LABELS[0];

/**
 * Keys that name an NVLink domain, most trusted first: our own (an administrator wrote it), NVIDIA's device plugin (`<cluster UUID>.<clique>`),
 * topograph in its two dialects, AWS, CoreWeave, OCI.
 */
export const NVLINK_DOMAIN_KEYS = [
  NODE_LABELS.nvlinkDomain,
  'nvidia.com/gpu.clique',
  'accelerator.topograph.run/domain',
  'network.topology.nvidia.com/accelerator',
  'topology.k8s.aws/ultraserver-id',
  'ds.coreweave.com/nvlink.domain',
  'oke.dra.net/gpuMemoryFabricId',
] as const;

/** A part of the domain whose GPUs are nearer still. */
export const NVLINK_SUB_DOMAIN_KEYS = ['accelerator.topograph.run/sub-domain'] as const;

/** Keys that name a node's GPUs, most trusted first: our own, GPU feature discovery of NVIDIA and of AMD, Google's, NVIDIA's DRA driver. */
export const GPU_TYPE_KEYS = [
  NODE_LABELS.gpuType,
  'nvidia.com/gpu.product',
  'amd.com/gpu.product-name',
  'cloud.google.com/gke-accelerator',
  'gpu.nvidia.com/productName',
] as const;

/** Labels that name the NICs' class. */
export const NIC_TYPE_KEYS = [NODE_LABELS.nicType, 'backend.coreweave.cloud/flavor'] as const;

/** An extended resource that stands for NICs. */
export interface NicResource {
  readonly resource: string;
  /** Absent: the resource is of either link layer. */
  readonly nicType?: string;
}

/**
 * Extended resources by which pods request NICs. Each provider hands out NICs of its own kind under its name. AWS: the EFA plugin. AKS: InfiniBand
 * virtual functions, by its guide to the network operator. OKE: RoCE virtual functions, by its guide. CoreWeave: `rdma/ib` for InfiniBand and RoCE, and a
 * label has the class.
 */
export const NIC_RESOURCES: readonly NicResource[] = [
  { resource: 'vpc.amazonaws.com/efa', nicType: 'efa' },
  { resource: 'nvidia.com/rdma-vf', nicType: 'roce' },
  { resource: 'nvidia.com/sriov_rdma_vf' },
  { resource: 'rdma/ib', nicType: 'infiniband' },
  { resource: 'rdma/shared_ib', nicType: 'infiniband' },
  { resource: 'nvidia.com/hostdev' },
];

/**
 * Counts that are numbers of NICs. One is how CoreWeave says that there are some; hundreds are the slots of a plugin by which pods share NICs
 * (k8s-rdma-shared-dev-plugin, `rdmaHcaMax`, 63 in AKS's guide). EFA has up to 32.
 */
export const NIC_COUNTS = { fewest: 2, most: 32 } as const;

/** All of the above, for a page. */
export const FABRIC_LABELS = {
  switchDialects: SWITCH_DIALECTS,
  placeLabels: PLACE_LABELS,
  nvlinkDomainKeys: NVLINK_DOMAIN_KEYS,
  nvlinkSubDomainKeys: NVLINK_SUB_DOMAIN_KEYS,
  gpuTypeKeys: GPU_TYPE_KEYS,
  nicTypeKeys: NIC_TYPE_KEYS,
  nicResources: NIC_RESOURCES,
} as const;
