/** The output of `coxswain_calibrate.py`. */
import { z } from 'zod';

const size = z.int().min(1).max(1_000_000_000);
/** An operation that takes no time was not measured. */
const seconds = z.number().min(1e-9).max(3_600);

/** [m, k] x [k, n] in the precision of linear layers. */
const Product = z.strictObject({ kind: z.literal('product'), m: size, n: size, k: size, seconds });

/** One optimizer step of small GPTs on all ranks at once: each by itself, or divided among `tensor` times `data` ranks with a distributed optimizer. */
const Step = z.strictObject({
  kind: z.literal('step'),
  layers: size,
  hidden: size,
  heads: size,
  ffn: size,
  vocabulary: size,
  length: size,
  batch: size.describe('Samples of a micro-batch.'),
  microBatches: size,
  tensor: size,
  data: size,
  seconds,
});

/** Communication that a probe measures: three collectives, and `handOver`, a transfer to another rank and back. */
export const COLLECTIVE_OPERATIONS = ['allReduce', 'allGather', 'reduceScatter', 'handOver'] as const;

/** Every group of this shape at once. `bytes`: what each rank ends with, or starts from. A hand-over goes there and back. */
const Collective = z.strictObject({
  kind: z.literal('collective'),
  operation: z.enum(COLLECTIVE_OPERATIONS),
  size,
  stride: size.describe('Ranks from one member to the next.'),
  bytes: size,
  seconds,
});

const HostCopy = z.strictObject({ kind: z.literal('hostCopy'), bytes: size, seconds });

/** One measured operation. */
export const Probe = z.discriminatedUnion('kind', [Product, Step, Collective, HostCopy]);
export type Probe = z.infer<typeof Probe>;

/** Longest list of probes that is read. */
const MAX_PROBES = 2_000;

/** The measurements of one cluster. */
export const ClusterMeasurement = z.strictObject({
  format: z.literal(1),
  backend: z.string().max(40),
  precision: z.enum(['fp32', 'bf16']),
  ranks: z.int().min(1).max(1_048_576),
  ranksPerNode: z.int().min(1).max(1_024),
  device: z.string().max(200),
  torch: z.string().max(100),
  probes: z.array(Probe).min(1).max(MAX_PROBES),
});
export type ClusterMeasurement = z.infer<typeof ClusterMeasurement>;
