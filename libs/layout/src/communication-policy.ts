import { z } from 'zod';

const network = z.enum(['infiniband', 'roce', 'socket']);

/** Which transfers overlap computation, and which network each group uses. */
export const CommunicationPolicy = z
  .strictObject({
    overlapGradReduce: z.boolean().optional(),
    overlapParamGather: z.boolean().optional(),
    overlapTensorParallel: z.boolean().optional(),
    overlapExpertParallel: z.boolean().optional(),
    overlapPipelineTransfers: z.boolean().optional().describe('Absent: true if the schedule is interleaved.'),
    deferEmbeddingGradient: z
      .boolean()
      .optional()
      .describe('The weight gradient of the embedding is computed while the pipeline drains.'),
    switchReduction: z.boolean().optional().describe('Reductions inside the switches (SHARP).'),
    timeoutMinutes: z.int().min(1).max(10_080).optional(),
    groupNetwork: z
      .strictObject({
        tensor: network.optional(),
        context: network.optional(),
        expert: network.optional(),
        data: network.optional(),
        pipeline: network.optional(),
      })
      .optional()
      .describe(
        'Network of each kind of group if islands have different NICs (Holmes). Absent: a network that all ranks of the group have.',
      ),
  })
  .meta({ id: 'CommunicationPolicy', description: 'Overlap, and the network of each kind of group.' });
export type CommunicationPolicy = z.infer<typeof CommunicationPolicy>;
