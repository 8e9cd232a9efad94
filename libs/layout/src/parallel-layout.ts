import { z } from 'zod';
import { LAYOUT_CHECKPOINT_FORMATS } from './checkpoint-formats.ts';
import { CommunicationPolicy } from './communication-policy.ts';
import { degree } from './degree.ts';
import { ExpertLayout } from './expert-layout.ts';
import { LayerOverride } from './layer-override.ts';
import { MemoryPolicy } from './memory-policy.ts';
import { PipelinePlan } from './pipeline-plan.ts';
import { SequencePlan } from './sequence-plan.ts';
import { StateSharding } from './state-sharding.ts';

/** Axes of the dense and the expert grid. */
export const RANK_AXES = ['tensor', 'weightShard', 'context', 'expert', 'data', 'pipeline'] as const;
/** An axis of the dense or the expert grid. */
export type RankAxis = (typeof RANK_AXES)[number];

/** Values of `kernel.precision`. */
export const LAYOUT_PRECISIONS = ['fp32', 'fp16', 'bf16', 'fp8', 'mxfp8', 'nvfp4'] as const;

const KernelPolicy = z
  .strictObject({
    attention: z
      .enum(['auto', 'flash', 'fused', 'flex', 'unfused', 'local'])
      .optional()
      .describe('Implementation of attention. Absent: the choice of the engine.'),
    attentionMask: z.enum(['causal', 'full', 'sliding', 'document']).optional().describe('Absent: causal.'),
    softmax: z.enum(['vanilla', 'off-by-one', 'learnable']).optional().describe('Absent: vanilla.'),
    precision: z.enum(LAYOUT_PRECISIONS).optional().describe('Of matrix products. Absent: bf16.'),
    cudaGraphs: z.enum(['none', 'partial', 'full']).optional().describe('Absent: none.'),
    deterministic: z
      .boolean()
      .optional()
      .describe('Only kernels that give the same result in every run. Absent: false.'),
    scaling: z
      .enum(['current', 'delayed'])
      .optional()
      .describe('Of fp8: scales from the present values, or from those of earlier steps. Absent: current.'),
    fusedLoss: z.boolean().optional().describe('Cross-entropy as one kernel. Absent: false.'),
    compile: z.boolean().optional().describe('torch.compile. Absent: only where another option needs it.'),
  })
  .meta({ id: 'KernelPolicy', description: 'Kernels and number formats.' });

const CheckpointPolicy = z
  .strictObject({
    format: z
      .enum(LAYOUT_CHECKPOINT_FORMATS)
      .optional()
      .describe('On-disk format of checkpoints. Absent: the default of the engine.'),
    optimizerReshard: z
      .enum(['none', 'data-parallel', 'full'])
      .optional()
      .describe('Which other layouts can load the checkpoint; full: any. It applies to checkpoints saved from now on.'),
    asyncSave: z.boolean().optional().describe('Ranks train on while a checkpoint is written. Absent: false.'),
    localEverySteps: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe('Steps between checkpoints on the disks of the nodes.'),
    localReplicas: z
      .int()
      .min(1)
      .max(8)
      .optional()
      .describe('Copies of each checkpoint on the disks of nodes, each on another node.'),
  })
  .meta({ id: 'CheckpointPolicy', description: 'Format of checkpoints, and which layouts can load them.' });

const TensorPlacement = z
  .strictObject({
    match: z.string().min(1).max(256).describe('Pattern of tensor names, such as *.mlp.up.weight.'),
    axes: z
      .array(
        z.strictObject({
          axis: z.enum(RANK_AXES).describe('Axis of the layout.'),
          placement: z
            .enum(['split', 'broadcast', 'partial-sum', 'ragged'])
            .describe(
              'split: each rank has a part. broadcast: each has the whole tensor. partial-sum: the sum over the ranks is the tensor. ragged: parts of unequal size.',
            ),
          dimension: z.int().min(0).max(15).optional().describe('Of split: the dimension of the tensor.'),
        }),
      )
      .min(1)
      .max(6)
      .describe('Placement on each axis of the layout.'),
  })
  .meta({
    id: 'TensorPlacement',
    description: 'Placement of tensors on each axis (SBP of OneFlow, DTensor of PyTorch).',
  });

/**
 * How the ranks of a job are divided, and which options each part of the work uses. One rank per GPU;
 * ranks = tensor * weight shard * context * data * pipeline. Experts are a second factorisation of the same ranks and add no ranks.
 *
 * Every key but the first three is optional; the engine's default applies if a key is absent.
 */
export const ParallelLayout = z
  .strictObject({
    tensorParallelDegree: degree
      .default(1)
      .describe('Ways each layer is split; these ranks must share an NVLink domain.'),
    pipelineParallelDegree: degree
      .default(1)
      .describe('Number of stages; each holds consecutive layers and has its own ranks.'),
    dataParallelDegree: degree.default(1).describe('Ranks that each take a share of the global batch.'),
    contextParallelDegree: degree.optional().describe('Ways the tokens of a sample are split. Absent: 1.'),
    dataParallelShardDegree: degree
      .optional()
      .describe(
        'Ranks, out of data times context parallel, that share one copy of sharded states; the rest are replicas (HSDP, MiCS). Absent: all.',
      ),
    weightShardDegree: degree
      .optional()
      .describe('Further ranks that share each tensor-parallel weight and gather it before use (GTP). Absent: 1.'),
    rankOrder: z
      .array(z.enum(RANK_AXES))
      .min(1)
      .max(6)
      .optional()
      .describe(
        'Axes from adjacent ranks to distant ones; those of degree 1 may be left out. Absent: tensor, context, expert, data, pipeline.',
      ),
    expert: ExpertLayout.optional(),
    pipeline: PipelinePlan.optional(),
    sequence: SequencePlan.optional(),
    states: StateSharding.optional(),
    memory: MemoryPolicy.optional(),
    communication: CommunicationPolicy.optional(),
    kernel: KernelPolicy.optional(),
    checkpointPolicy: CheckpointPolicy.optional(),
    perLayer: z.array(LayerOverride).max(32).optional().describe('Layers that are divided differently. Absent: none.'),
    tensorPlacements: z.array(TensorPlacement).max(16).optional().describe('For engines that support placements.'),
  })
  .meta({
    id: 'ParallelLayout',
    description: 'How the ranks of a job are divided; the product of the degrees is its world size.',
  });
export type ParallelLayout = z.infer<typeof ParallelLayout>;

/** Number of ranks, one per GPU. */
export function worldSize(layout: ParallelLayout): number {
  return (
    layout.tensorParallelDegree *
    (layout.weightShardDegree ?? 1) *
    (layout.contextParallelDegree ?? 1) *
    layout.dataParallelDegree *
    layout.pipelineParallelDegree
  );
}

/** `tp2 x cp2 x dp4 x pp8 / ep8`: the degrees above 1 in rank order, those of experts after the slash; `1 rank` if all are 1. */
export function formatLayout(layout: ParallelLayout): string {
  const { expert } = layout;
  const dense = degreesAboveOne([
    ['tp', layout.tensorParallelDegree],
    ['wshard', layout.weightShardDegree],
    ['cp', layout.contextParallelDegree],
    ['dp', layout.dataParallelDegree],
    ['pp', layout.pipelineParallelDegree],
  ]);
  const experts = degreesAboveOne([
    ['etp', expert?.expertTensorParallelDegree],
    ['ep', expert?.expertParallelDegree],
    ['ewshard', expert?.weightShardDegree],
  ]);
  const shown = dense === '' ? '1 rank' : dense;
  return experts === '' ? shown : `${shown} / ${experts}`;
}

function degreesAboveOne(parts: readonly (readonly [string, number | undefined])[]): string {
  return parts.flatMap(([axis, ways]) => (ways === undefined || ways === 1 ? [] : [`${axis}${ways}`])).join(' x ');
}
