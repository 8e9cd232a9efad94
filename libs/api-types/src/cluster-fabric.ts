/** The fabric of a whole cluster as the API returns it, as columns: 10,000 nodes are a few hundred kilobytes, and a tenth of that compressed. */
import { z } from 'zod';

/** Most jobs of one answer. */
export const MAX_FABRIC_JOBS = 2_000;

const index = z.int().min(0).max(1_000_000);

/** Position of nodes in the network. */
export const FabricPlace = z
  .object({
    island: z.string().describe('NIC fabric that these nodes share.'),
    nvlinkDomain: z.string().nullable().describe('Null: each of these nodes is a domain of its own.'),
    switches: z
      .array(z.string())
      .describe('Switches above these nodes, nearest first: leaf, spine, core and beyond. Empty: unknown.'),
  })
  .meta({ id: 'FabricPlace' });
export type FabricPlace = z.infer<typeof FabricPlace>;

/** Where a fact of a node comes from. */
export const FabricSource = z
  .object({
    fact: z.string().describe('nvlinkDomain, island, switches, nicType, gpuType, ...'),
    key: z.string().describe('Label, DRA attribute or device resource that the fact comes from.'),
  })
  .meta({ id: 'FabricSource' });
export type FabricSource = z.infer<typeof FabricSource>;

/** GPU and NIC types of nodes. */
export const FabricHardware = z
  .object({
    gpuType: z.string().nullable(),
    nicType: z.string().nullable(),
    nicSpeedGbps: z.number().nullable().describe('Of one NIC.'),
    nicCount: index.nullable(),
    readFrom: z.array(FabricSource).describe('Unknown facts are not listed.'),
  })
  .meta({ id: 'FabricHardware' });
export type FabricHardware = z.infer<typeof FabricHardware>;

/** All of one length; the same index is the same node. */
export const FabricNodes = z
  .object({
    names: z.array(z.string()).describe('Sorted.'),
    gpus: z.array(index).describe('Allocatable GPUs.'),
    usable: z.array(z.boolean()).describe('Ready, not cordoned, and without a taint that a job does not tolerate.'),
    places: z.array(index).describe('Index of the node’s place.'),
    hardware: z.array(index).describe('Index of the node’s hardware.'),
    heldByOthers: z
      .array(index)
      .nullish()
      .describe('GPUs that pods of others hold. Null: unknown, because the API cannot list the pods of the cluster.'),
  })
  .meta({ id: 'FabricNodes' });

/** A job that holds GPUs of the cluster. */
export const FabricJob = z
  .object({
    id: z.uuid(),
    project: z.string().nullable().describe('Null: its namespace belongs to none.'),
    name: z.string(),
    nodes: z.array(index).describe('Index of each node that it holds GPUs of, once for each pod.'),
    gpus: z.array(index).describe('How many GPUs each of these pods holds.'),
  })
  .meta({ id: 'FabricJob' });
export type FabricJob = z.infer<typeof FabricJob>;

/** Nodes that have GPUs, where each sits, and who holds which GPUs: jobs of Coxswain, or pods of others. */
export const ClusterFabric = z
  .object({
    isStale: z.boolean().describe('The API has had no news of the cluster for a minute; nodes are as last observed.'),
    places: z.array(FabricPlace),
    hardware: z.array(FabricHardware),
    nodes: FabricNodes,
    jobs: z.array(FabricJob).describe(`The newest ${MAX_FABRIC_JOBS} that hold GPUs.`),
    hasMoreJobs: z.boolean().describe('Older jobs may hold GPUs too; those GPUs seem free here.'),
  })
  .meta({ id: 'ClusterFabric' });
export type ClusterFabric = z.infer<typeof ClusterFabric>;

/** How many GPUs the cluster has, and how many are free. Counts only: who holds the others is for administrators. */
export const GpuCounts = z
  .object({
    total: z.int().min(0),
    free: z.int().min(0).describe('On usable nodes, held by no pod and no placement.'),
    types: z.array(
      z.object({
        type: z.string().describe('As labels of nodes spell it; unlabelled: they do not.'),
        total: z.int().min(0),
        free: z.int().min(0),
      }),
    ),
  })
  .meta({ id: 'GpuCounts' });
export type GpuCounts = z.infer<typeof GpuCounts>;
