/** The Fabric resource: what an administrator declares about the network of the cluster, and what the operator finds. */
import { z } from 'zod';
import { cel } from './cel.ts';
import { Condition } from './conditions.ts';
import type { ObjectMeta } from './metadata.ts';
import type { API_GROUP_VERSION } from './names.ts';

/** The one Fabric of a cluster. */
export const FABRIC_NAME = 'cluster';

/** Tiers of switches that are read, and that an administrator may name. */
const MAX_SWITCHES = 8;
const MAX_OVERRIDES = 256;
const MAX_NODES = 1_000;
const MAX_PROBLEMS = 32;
/** Islands and sources that status lists; there may be more. */
const MAX_LISTED = 64;

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const name = z
  .string()
  .min(1)
  .max(63)
  .regex(
    NAME,
    'must be letters, digits, "-", "_" and ".", and start and end with a letter or digit, as the value of a label',
  );
const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Nodes that an entry of the spec is about. */
const selection = {
  nodes: z
    .array(z.string().min(1).max(253))
    .min(1)
    .max(MAX_NODES)
    .optional()
    .meta({ 'x-kubernetes-list-type': 'atomic' })
    .describe('Names of nodes. Absent: the nodes that nodeSelector selects.'),
  nodeSelector: z
    .record(z.string().max(317), z.string().max(63))
    .optional()
    .meta({ maxProperties: 16 })
    .describe('Labels of the nodes. With names: nodes that match both.'),
};

const SELECTS_NODES = {
  rule: 'has(self.nodes) || (has(self.nodeSelector) && size(self.nodeSelector) > 0)',
  message: 'must have nodes or a non-empty nodeSelector',
};

function selectsNodes({ nodes, nodeSelector }: z.infer<z.ZodObject<typeof selection>>): boolean {
  return nodes !== undefined || Object.keys(nodeSelector ?? {}).length > 0;
}

/** Declared facts of nodes, which override their labels. */
const FabricOverride = z
  .strictObject({
    ...selection,
    nvlinkDomain: name.optional().describe('NVLink domain that these nodes form together.'),
    island: name.optional().describe('NIC fabric that these nodes share.'),
    switches: z
      .array(name)
      .min(1)
      .max(MAX_SWITCHES)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Switches above these nodes, nearest first: leaf, spine, core.'),
    nicType: name.optional().describe('infiniband, roce, ethernet, efa, ...'),
    nicSpeedGbps: z.int().min(1).max(100_000).optional().describe('Of one NIC.'),
    nicCount: z.int().min(1).max(32).optional().describe('NICs of one node.'),
    gpuType: name.optional().describe('As libs/planner or the labels spell it, such as h100.'),
  })
  .refine(selectsNodes, SELECTS_NODES.message)
  .meta({
    id: 'FabricOverride',
    ...cel(SELECTS_NODES),
  });
/** Facts that an administrator declares for some nodes. */
export type FabricOverride = z.infer<typeof FabricOverride>;

const MAX_RESERVED_PER_DOMAIN = 64;
const MAX_RESERVED_PER_ISLAND = 10_000;

/** Whole nodes that gangs leave free. */
const FabricReserve = z
  .strictObject({
    nodesPerNvlinkDomain: z
      .int()
      .min(0)
      .max(MAX_RESERVED_PER_DOMAIN)
      .optional()
      .describe('In each NVLink domain of more nodes than that. Default: none.'),
    nodesPerIsland: z
      .int()
      .min(0)
      .max(MAX_RESERVED_PER_ISLAND)
      .optional()
      .describe(
        'Of each type of GPU in each island that has more of them than that; those of its NVLink domains count. Default: none.',
      ),
  })
  .meta({ id: 'FabricReserve' });
/** Nodes that gangs leave free as hot spares. */
export type FabricReserve = z.infer<typeof FabricReserve>;

const MAX_WINDOWS = 64;
/** From so long before a window on, a job that would still run at its start is not placed on its nodes. */
export const WINDOW_HELD_SECONDS = 86_400;

const time = z
  .string()
  .max(40)
  .refine(
    (text) => RFC_3339.test(text) && !Number.isNaN(Date.parse(text)),
    'must be a time such as 2026-12-01T22:00:00Z',
  )
  .meta({ format: 'date-time' });
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** A time in which nodes are out of service, or kept for one project. */
const FabricWindow = z
  .strictObject({
    name: name.describe('Names the window in messages, such as rack-12-firmware.'),
    ...selection,
    from: time.describe('RFC 3339. Jobs save, and leave the nodes 15 minutes before.'),
    until: time.describe('RFC 3339, after `from`. From then on the nodes serve all jobs again.'),
    namespace: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe(
        'Namespace of a project: the nodes are kept for its jobs, and jobs of others leave. Absent: maintenance, every job leaves.',
      ),
    heldForSeconds: z
      .int()
      .min(0)
      .max(31_536_000)
      .optional()
      .describe(
        `From so long before the window on, a job that would still run when it begins is not placed on its nodes. Earlier, it is placed, and saves and moves in time. Default: ${String(WINDOW_HELD_SECONDS)}, a day.`,
      ),
  })
  .refine(selectsNodes, SELECTS_NODES.message)
  .refine(({ from, until }) => !(Date.parse(until) <= Date.parse(from)), {
    message: 'must be after from',
    path: ['until'],
  })
  .meta({
    id: 'FabricWindow',
    ...cel(SELECTS_NODES, { rule: 'self.until > self.from', message: 'until must be after from' }),
  });
/** A time in which nodes are out of service, or kept for one project. */
export type FabricWindow = z.infer<typeof FabricWindow>;

/** Spec of the Fabric resource: overrides and reserves that an administrator declares. */
export const FabricSpec = z
  .strictObject({
    reserve: FabricReserve.optional().describe(
      'Hot spares: nodes without a gang that replace failed nodes of a gang. Absent: none.',
    ),
    overrides: z
      .array(FabricOverride)
      .max(MAX_OVERRIDES)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe(
        'Facts of nodes that override their labels. If several overrides select a node, the last one wins, field by field.',
      ),
    windows: z
      .array(FabricWindow)
      .max(MAX_WINDOWS)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .describe('Times in which nodes are out of service, or kept for a project. Past ones have no effect.'),
  })
  .meta({ id: 'FabricSpec' });
export type FabricSpec = z.infer<typeof FabricSpec>;

/** Status of the Fabric resource: what the operator found. */
export const FabricStatus = z
  .object({
    nodes: count.describe('Nodes with GPUs.'),
    gpus: count.describe('GPUs of these nodes.'),
    freeGpus: count
      .optional()
      .describe(
        'GPUs of usable nodes that neither pods nor placements hold. Absent: an earlier release wrote the status.',
      ),
    gpuTypes: z
      .array(
        z.object({
          type: z.string().max(128).describe('Type of GPU.'),
          total: count.describe('GPUs of this type.'),
          free: count.describe('Those that neither pods nor placements hold.'),
        }),
      )
      .max(MAX_LISTED)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .optional()
      .describe('The same by type of GPU, as labels spell it; most GPUs first.'),
    nvlinkDomains: count.describe('NVLink domains of more than one node.'),
    islandCount: count.describe('Islands: sets of nodes whose NICs reach each other.'),
    islands: z
      .array(
        z.object({
          name: z.string().max(512).describe('Name of the island, from labels or overrides.'),
          nodes: count.describe('Its nodes with GPUs.'),
          gpus: count.describe('Their GPUs.'),
        }),
      )
      .max(MAX_LISTED)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('The largest ones.'),
    switches: z
      .array(count)
      .max(2 * MAX_SWITCHES)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Number of switches in each tier, nearest first; zone and region count as tiers.'),
    nodesWithoutSwitches: count.describe('Nodes without a switch label or override.'),
    sources: z
      .array(
        z.object({
          fact: z.string().max(64).describe('Fact of a node, such as island or nvlinkDomain.'),
          key: z.string().max(384).describe('Label, attribute or resource that has it.'),
          nodes: count.describe('Nodes on which it was found.'),
        }),
      )
      .max(MAX_LISTED)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Label, DRA attribute or device resource that each fact comes from, and the number of nodes.'),
    problems: z
      .array(
        z.object({
          kind: z.string().max(64).describe('Kind of the contradiction.'),
          nodes: z
            .array(z.string().max(253))
            .max(8)
            .meta({ 'x-kubernetes-list-type': 'atomic' })
            .describe('Some of the nodes that it concerns.'),
          message: z.string().max(4_096).describe('What contradicts what, and what to do.'),
        }),
      )
      .max(MAX_PROBLEMS)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Labels and overrides that contradict each other, or that changed under a running job.'),
    conditions: z
      .array(Condition)
      .max(8)
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
      .describe('Consistent: labels and overrides of the nodes do not contradict each other.'),
  })
  .meta({ id: 'FabricStatus' });
export type FabricStatus = z.infer<typeof FabricStatus>;

/** The Fabric as the API server holds it. */
export interface FabricResource {
  readonly apiVersion: typeof API_GROUP_VERSION;
  readonly kind: 'Fabric';
  readonly metadata: Omit<ObjectMeta, 'namespace'>;
  readonly spec: FabricSpec;
  readonly status?: FabricStatus;
}
