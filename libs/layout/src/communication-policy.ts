import { z } from 'zod';

const network = z.enum(['infiniband', 'roce', 'socket']);

/** Which transfers overlap computation, and which network each group uses. */
export const CommunicationPolicy = z
  .strictObject({
    overlapGradReduce: z.boolean().optional().describe('Gradients are reduced while the backward pass still computes.'),
    overlapParamGather: z.boolean().optional().describe('Sharded weights are gathered while earlier layers compute.'),
    overlapTensorParallel: z
      .boolean()
      .optional()
      .describe('Transfers of a tensor-parallel group overlap the matrix products that need them.'),
    overlapExpertParallel: z
      .boolean()
      .optional()
      .describe('The exchange of tokens between experts overlaps computation.'),
    overlapPipelineTransfers: z.boolean().optional().describe('Absent: true if the schedule is interleaved.'),
    deferEmbeddingGradient: z
      .boolean()
      .optional()
      .describe('The weight gradient of the embedding is computed while the pipeline drains.'),
    switchReduction: z.boolean().optional().describe('Reductions inside the switches (SHARP).'),
    timeoutMinutes: z
      .int()
      .min(1)
      .max(10_080)
      .optional()
      .describe('Minutes after which the engine gives up a collective. Absent: the default of the engine.'),
    groupNetwork: z
      .strictObject({
        tensor: network.optional().describe('Network of the tensor-parallel groups.'),
        context: network.optional().describe('Network of the context-parallel groups.'),
        expert: network.optional().describe('Network of the expert-parallel groups.'),
        data: network.optional().describe('Network of the data-parallel groups.'),
        pipeline: network.optional().describe('Network of the pipeline groups.'),
      })
      .optional()
      .describe(
        'Network of each kind of group if islands have different NICs (Holmes). Absent: a network that all ranks of the group have.',
      ),
  })
  .meta({ id: 'CommunicationPolicy', description: 'Overlap, and the network of each kind of group.' });
export type CommunicationPolicy = z.infer<typeof CommunicationPolicy>;
