import { z } from 'zod';
import { degree } from './degree.ts';

export const EXPERT_DISPATCHERS = ['allgather', 'alltoall', 'alltoall-2d', 'deepep', 'hybridep', 'ncclep'] as const;
export const EXPERT_BALANCES = ['none', 'aux-loss', 'bias', 'adaptive-degree', 'sparse-materialization'] as const;

/**
 * How experts are divided: a second factorisation of the ranks of one pipeline stage ("parallel folding", arXiv 2504.14960). The ranks left over
 * replicate experts: ranks of a stage = expertTensorParallelDegree * expertParallelDegree * weightShardDegree * expert data parallelism.
 */
export const ExpertLayout = z
  .strictObject({
    expertParallelDegree: degree.describe('Ways the experts of a layer are dealt out.'),
    expertTensorParallelDegree: degree
      .optional()
      .describe('Ways each expert is split. Absent: tensorParallelDegree, as Megatron-LM does.'),
    weightShardDegree: degree.optional().describe('Ranks that share one copy of expert weights, gathered before use.'),
    dispatcher: z.enum(EXPERT_DISPATCHERS).optional().describe('How tokens reach their experts.'),
    capacityFactor: z
      .number()
      .positive()
      .max(64)
      .optional()
      .describe('Tokens an expert takes relative to an even share; the rest is dropped. Absent: dropless.'),
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
    balance: z.enum(EXPERT_BALANCES).optional().describe('What keeps the load of experts even.'),
    loadWindowSteps: z.int().min(1).max(1024).optional().describe('Past steps whose token counts decide a placement.'),
  })
  .meta({ id: 'ExpertLayout', description: 'How experts are divided over the ranks of one pipeline stage.' });
export type ExpertLayout = z.infer<typeof ExpertLayout>;
