import { z } from 'zod';
import { degree } from './degree.ts';

/** Values of `states.implementation`. */
export const STATE_IMPLEMENTATIONS = ['ddp', 'distributed-optimizer', 'megatron-fsdp', 'fsdp2', 'deepspeed'] as const;
/** Values of `states.optimizer`. */
export const OPTIMIZERS = ['adamw', 'sgd', 'lion', 'muon', 'lamb', 'galore', 'natural-galore', 'mezo-sgd'] as const;

/** Which share of parameters, gradients and optimizer states each data-parallel rank holds. */
export const StateSharding = z
  .strictObject({
    zeroStage: z
      .int()
      .min(0)
      .max(3)
      .optional()
      .describe('Sharded: 1 optimizer states, 2 gradients too, 3 parameters too. Absent: 0.'),
    implementation: z
      .enum(STATE_IMPLEMENTATIONS)
      .optional()
      .describe('Absent: ddp at stage 0, else the default of the engine.'),
    secondaryShardDegree: degree
      .optional()
      .describe('Second, smaller group that keeps weights for the backward pass (hpZ).'),
    reshardAfterForward: z
      .boolean()
      .optional()
      .describe('Stage 3: gathered weights are freed after the forward pass. Absent: true.'),
    optimizerInstances: degree.optional().describe('Copies of the sharded optimizer states. Absent: 1.'),
    optimizer: z.enum(OPTIMIZERS).optional().describe('Absent: adamw.'),
    optimizerPrecision: z
      .enum(['fp32', 'bf16', 'fp16', 'fp8'])
      .optional()
      .describe('Format of the optimizer moments. Absent: fp32.'),
    gradientPrecision: z
      .enum(['fp32', 'bf16'])
      .optional()
      .describe('Format in which gradients are summed and reduced. Absent: fp32; fp16 if weights are fp16.'),
    precisionAwareOptimizer: z
      .boolean()
      .optional()
      .describe('Master weights and moments have their own formats; optimizer offload of Megatron-LM needs it.'),
    lowRank: z
      .strictObject({
        rank: z.int().min(1).max(65_536).describe('Rank of the projected gradients.'),
        updateGapSteps: z.int().min(1).max(1_000_000).optional().describe('Steps between new projections.'),
      })
      .optional()
      .describe('Only for galore and natural-galore.'),
    perturbationDegree: z
      .int()
      .min(1)
      .max(2)
      .optional()
      .describe(
        'Of mezo-sgd: 2 runs both perturbed passes side by side on halves of the data-parallel ranks. Absent: 1.',
      ),
  })
  .meta({
    id: 'StateSharding',
    description: 'Which share of parameters, gradients and optimizer states each rank holds.',
  });
export type StateSharding = z.infer<typeof StateSharding>;
