import { z } from 'zod';
import { degree } from './degree.ts';

/** Values of `expert.dispatcher`. */
export const EXPERT_DISPATCHERS = ['allgather', 'alltoall', 'alltoall-2d', 'deepep', 'hybridep', 'ncclep'] as const;
/** Values of `expert.balance`. */
export const EXPERT_BALANCES = ['none', 'aux-loss', 'bias', 'adaptive-degree', 'sparse-materialization'] as const;

/**
 * How experts are divided: a second factorisation of the ranks of one pipeline stage ("parallel folding", arXiv 2504.14960). The remaining ranks
 * replicate experts: ranks of a stage = expertTensorParallelDegree * expertParallelDegree * weightShardDegree * expert data parallelism.
 */
export const ExpertLayout = z
  .strictObject({
    expertParallelDegree: degree.describe('Number of parts that the experts of a layer are divided into.'),
    expertTensorParallelDegree: degree
      .optional()
      .describe('Ways each expert is split. Absent: tensorParallelDegree, as Megatron-LM does.'),
    weightShardDegree: degree.optional().describe('Ranks that share one copy of expert weights, gathered before use.'),
    dispatcher: z.enum(EXPERT_DISPATCHERS).optional().describe('How tokens are sent to their experts.'),
    capacityFactor: z
      .number()
      .positive()
      .max(64)
      .optional()
      .describe(
        'Tokens that an expert accepts, relative to an even share; further tokens are dropped. Absent: dropless.',
      ),
    padToCapacity: z
      .boolean()
      .optional()
      .describe('Inputs of each expert are padded to its capacity, so that their sizes are constant.'),
    tokenDropOrder: z
      .enum(['position', 'probability', 'random'])
      .optional()
      .describe('Which tokens are dropped first.'),
    overlapDegree: z
      .int()
      .min(1)
      .max(64)
      .optional()
      .describe(
        'Pieces of a layer’s tokens whose exchange and computation overlap (Tutel), or layers fetched ahead (Hecate).',
      ),
    adaptiveDegree: z
      .int()
      .min(0)
      .max(4096)
      .optional()
      .describe(
        'r of Tutel: 0 data parallel, 1 expert parallel, more: r-way tensor parallel experts besides. Divides ranks / experts.',
      ),
    balance: z.enum(EXPERT_BALANCES).optional().describe('How the load of experts is balanced.'),
    loadWindowSteps: z
      .int()
      .min(1)
      .max(1024)
      .optional()
      .describe('Number of past steps that a placement of experts is computed from.'),
  })
  .meta({ id: 'ExpertLayout', description: 'How experts are divided over the ranks of one pipeline stage.' });
export type ExpertLayout = z.infer<typeof ExpertLayout>;
