import { NODE_LABELS } from '@coxswain/api-types';
import type { Fabric, FabricNode, NodeFacts } from './fabric.ts';

/**
 * Labels that name an NVLink domain, most trusted first: our own (an administrator wrote it), NVIDIA's device plugin
 * (`<cluster UUID>.<clique>`), topograph in its two dialects, AWS, CoreWeave. A node is described by the first one it carries. Values of
 * different producers are never equal: everything but our own label is spelled `<label>=<value>`.
 */
const NVLINK_DOMAIN_LABELS = [
  NODE_LABELS.nvlinkDomain,
  'nvidia.com/gpu.clique',
  'accelerator.topograph.run/domain',
  'network.topology.nvidia.com/accelerator',
  'topology.k8s.aws/ultraserver-id',
  'ds.coreweave.com/nvlink.domain',
] as const;

/** Labels whose value names the farthest switch tier below which everything shares a NIC fabric, most trusted first. */
const ISLAND_LABELS = [
  NODE_LABELS.nicIsland,
  'network.topology.nvidia.com/core',
  'network.topology.nvidia.com/datacenter',
  'topology.k8s.aws/network-node-layer-1',
  'oci.oraclecloud.com/host.network_block_id',
  'cloud.google.com/gce-topology-block',
] as const;

/** Labels that name a node's GPUs, most trusted first: our own, GPU feature discovery of NVIDIA and of AMD, Google's. */
const GPU_TYPE_LABELS = [
  NODE_LABELS.gpuType,
  'nvidia.com/gpu.product',
  'amd.com/gpu.product-name',
  'cloud.google.com/gke-accelerator',
] as const;

/** Name of the island that holds every node without an island label. */
export const UNLABELLED_ISLAND = 'unlabelled';

/** The fabric that the nodes' labels describe. Nodes without GPUs are left out; of two nodes of one name the later one counts. */
export function fabricFromNodes(nodes: readonly NodeFacts[]): Fabric {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return {
    nodes: [...byName.values()]
      .filter((node) => Number.isSafeInteger(node.gpuCapacity) && node.gpuCapacity > 0)
      .map(toFabricNode)
      .sort((left, right) => (left.name < right.name ? -1 : 1)),
  };
}

function toFabricNode(node: NodeFacts): FabricNode {
  const nicType = node.labels[NODE_LABELS.nicType];
  const nicSpeedGbps = Number(node.labels[NODE_LABELS.nicSpeedGbps]);
  const gpuType = GPU_TYPE_LABELS.map((label) => node.labels[label] ?? '').find((value) => value !== '');
  return {
    name: node.name,
    gpus: node.gpuCapacity,
    // A label's value cannot contain a colon, so no label can claim another node's own domain.
    nvlinkDomain: firstNamed(node.labels, NVLINK_DOMAIN_LABELS) ?? `node:${node.name}`,
    island: firstNamed(node.labels, ISLAND_LABELS) ?? UNLABELLED_ISLAND,
    switches: [],
    ...(nicType === undefined || nicType === '' ? {} : { nicType }),
    ...(nicSpeedGbps > 0 && Number.isFinite(nicSpeedGbps) ? { nicSpeedGbps } : {}),
    ...(gpuType === undefined ? {} : { gpuType }),
    usable: node.ready && node.schedulable,
  };
}

function firstNamed(labels: NodeFacts['labels'], keys: readonly [string, ...string[]]): string | undefined {
  const [ours] = keys;
  for (const key of keys) {
    const value = labels[key];
    if (value !== undefined && value !== '') return key === ours ? value : `${key}=${value}`;
  }
  return undefined;
}
