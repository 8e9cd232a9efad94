import { z } from 'zod';

const network = z.enum(['infiniband', 'roce', 'socket']);

/** Which transfers hide behind computation, and over which network each group talks. */
export const CommunicationPolicy = z
  .strictObject({
    overlapGradReduce: z.boolean().optional(),
    overlapParamGather: z.boolean().optional(),
    overlapTensorParallel: z.boolean().optional(),
    overlapExpertParallel: z.boolean().optional(),
    overlapPipelineTransfers: z.boolean().optional().describe('Absent: true where the schedule is interleaved.'),
    deferEmbeddingGradient: z
      .boolean()
      .optional()
      .describe('The embedding’s weight gradient waits for the pipeline’s drain.'),
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
        'Network per kind of group where islands with different NICs meet (Holmes). Absent: what all of its ranks have.',
      ),
  })
  .meta({ id: 'CommunicationPolicy', description: 'Overlap, and the network of each kind of group.' });
export type CommunicationPolicy = z.infer<typeof CommunicationPolicy>;
