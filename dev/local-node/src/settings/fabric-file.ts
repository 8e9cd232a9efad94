import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const Quantity = z.union([z.string(), z.number()]).transform(String);

/** One simulated machine. */
const LocalNodeSpec = z.strictObject({
  name: z.string().regex(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/, 'must be a DNS label of at most 63 characters'),
  /** Its own loopback address: InternalIP of the node and IP of its pods. */
  address: z.ipv4().regex(/^127\./, 'must lie in 127.0.0.0/8: a local node is this machine'),
  labels: z.record(z.string(), z.string()).default({}),
  annotations: z.record(z.string(), z.string()).default({}),
  taints: z
    .array(
      z.strictObject({
        key: z.string(),
        value: z.string().optional(),
        effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
      }),
    )
    .default([]),
  /** Resource quantities; `nvidia.com/gpu` counts simulated GPUs. All of it can be allocated. */
  capacity: z.record(z.string(), Quantity).default({}),
});
/** One node: its name, labels, taints and capacity. */
export type LocalNodeSpec = z.infer<typeof LocalNodeSpec>;

/** A fabric for development: the nodes that one agent plays. */
export const FabricFile = z.strictObject({
  nodes: z
    .array(LocalNodeSpec)
    .min(1)
    .refine((nodes) => new Set(nodes.map((node) => node.name)).size === nodes.length, 'two nodes have the same name')
    .refine(
      (nodes) => new Set(nodes.map((node) => node.address)).size === nodes.length,
      'two nodes have the same address',
    ),
});
export type FabricFile = z.infer<typeof FabricFile>;

/** Capacity of a node whose fabric file says nothing else. */
export const DEFAULT_CAPACITY: Readonly<Record<string, string>> = {
  cpu: '8',
  memory: '32Gi',
  'ephemeral-storage': '100Gi',
  pods: '110',
};

/** Reads and checks a fabric file (YAML). Throws an error that names the file and the field. */
export function readFabricFile(path: string): FabricFile {
  const parsed = FabricFile.safeParse(parse(readFileSync(path, 'utf8')));
  if (!parsed.success) {
    throw new Error(`${path} is no fabric file: ${z.prettifyError(parsed.error)}`, { cause: parsed.error });
  }
  return parsed.data;
}
