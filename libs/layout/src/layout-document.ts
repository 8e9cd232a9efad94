import { z } from 'zod';
import { degree } from './degree.ts';
import { EngineOption } from './engine-option.ts';
import { LAYOUT_ENGINES, NIC_KINDS } from './layout-facts.ts';
import { LoraSpec } from './lora-adapters.ts';
import { ModelShape } from './model-shape.ts';
import { ParallelLayout } from './parallel-layout.ts';
import { SequencePacking } from './sequence-packing.ts';

const name = z.string().min(1).max(100);
const text = z.string().min(1).max(512);

const Engine = z.strictObject({
  name: z.enum(LAYOUT_ENGINES),
  version: text.optional().describe('Release, tag or commit that the options are meant for.'),
  image: text.optional(),
  options: z.array(EngineOption).max(256).optional().describe('As engine.options of a TrainingJob.'),
});

/** A model that is not a transformer, or whose shape is not public: only the sizes that rules use. */
export const OtherModel = z.strictObject({
  kind: z.enum(['graph', 'diffusion', 'vision', 'other']),
  name: z.string().min(1).max(200).optional(),
  layers: z.int().min(1).max(16_384),
  hiddenSize: z.int().min(1).max(16_777_216).optional(),
  attentionHeads: z.int().min(1).max(65_536).optional(),
  keyValueHeads: z.int().min(1).max(65_536).optional(),
});
export type OtherModel = z.infer<typeof OtherModel>;

const Batch = z.strictObject({
  globalBatchSize: z.int().min(1).max(16_777_216).describe('Samples per step over all ranks.'),
  microBatchSize: z.int().min(1).max(65_536).default(1).describe('Samples per forward pass of one rank.'),
  sequenceLength: z.int().min(1).max(16_777_216).optional().describe('Tokens per sample.'),
  packing: z.enum(['none', 'packed', 'variable']).default('none'),
});

const Segment = z.strictObject({
  nodes: z.int().min(1).max(65_536),
  gpu: text.describe('Type of accelerator, such as h100; cpu where there is none.'),
  network: z.enum(NIC_KINDS).describe('Kind of NICs between its nodes.'),
  topologyDomain: text.optional(),
  relativeSpeed: z.number().positive().max(100).optional().describe('Speed of one GPU relative to the first segment.'),
  grid: z
    .strictObject({ tensor: degree, context: degree, expert: degree, data: degree, pipeline: degree })
    .optional()
    .describe('Degrees of this segment, for engines that support different degrees per segment.'),
});

/** Machines in the order of ranks: segments of nodes with one type of GPU and one network each. */
export const DeviceMesh = z.strictObject({
  gpusPerNode: z.int().min(1).max(1024),
  scaleUpDomainGpus: z.int().min(1).max(16_384).optional().describe('GPUs of an NVLink domain. Absent: gpusPerNode.'),
  hostMemoryGibPerNode: z.number().positive().max(1_048_576).optional(),
  segments: z.array(Segment).min(1).max(64),
});
export type DeviceMesh = z.infer<typeof DeviceMesh>;

const roleKeys = {
  engine: Engine.optional(),
  model: z.union([name, ModelShape, OtherModel]).optional().describe('A preset’s name, or the sizes.'),
  batch: Batch.optional(),
  lora: LoraSpec.optional().describe('As training.lora of a TrainingJob. Absent: all weights are trained.'),
  packing: SequencePacking.optional().describe(
    'As training.packing of a TrainingJob. Absent: attention spans the sample.',
  ),
  layout: ParallelLayout,
  progressUnit: z.enum(['token', 'sample', 'epoch', 'step']).optional().describe('What the job counts. Absent: token.'),
  restoreFrom: z
    .strictObject({ engine: z.enum(LAYOUT_ENGINES).optional(), layout: ParallelLayout })
    .optional()
    .describe('How the checkpoint to load was saved.'),
};

/** A file that describes the layout of one model on one set of machines. */
export const LayoutDocument = z.strictObject({ ...roleKeys, mesh: DeviceMesh.optional() });
export type LayoutDocument = z.infer<typeof LayoutDocument>;

const RoleFlow = z.strictObject({
  from: name,
  to: name,
  kind: z.enum(['data', 'weights']),
  everySteps: z
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe('Absent: once, when from has ended; until then to waits.'),
  via: z.enum(['broadcast', 'p2p', 'checkpoint']).optional(),
});

/** A file that describes a job of several roles. Each role has its own model and layout; roles may take turns on one mesh. */
export const JobLayout = z.strictObject({
  roles: z.record(name, z.strictObject(roleKeys)),
  meshes: z.record(name, DeviceMesh),
  roleMesh: z.record(name, name).describe('Mesh of each role; roles on one mesh take turns.'),
  flows: z.array(RoleFlow).max(64).default([]),
});
export type JobLayout = z.infer<typeof JobLayout>;
/** The part of a {@link JobLayout} that describes one role. */
export type RoleDocument = JobLayout['roles'][string];
