import { z } from 'zod';

/** Values of `sequence.contextAlgorithm`. */
export const CONTEXT_ALGORITHMS = [
  'ring',
  'ring-self-attention',
  'dist-flash',
  'allgather',
  'ulysses',
  'ulysses-ring',
  'token-ring',
  'magi',
  'state-allgather',
  'state-scan',
] as const;
/**
 * How attention reads tokens of other ranks. ring: keys and values are sent around (P2P); ring-self-attention: the same without a fused kernel; dist-flash:
 * ring with causal balancing by helpers (LightSeq); ulysses: heads for tokens by all-to-all; ulysses-ring: both, all-to-all inside; token-ring:
 * queries are sent around; state-allgather, state-scan: only for linear attention (LASP-2, ZeCO).
 */
export type ContextAlgorithm = (typeof CONTEXT_ALGORITHMS)[number];

/** Values of `sequence.causalBalance`. */
export const CAUSAL_BALANCES = ['none', 'head-tail', 'zigzag', 'ptrr', 'helper'] as const;

const algorithm = z.enum(CONTEXT_ALGORITHMS);

/** How the tokens of one sample are divided. */
export const SequencePlan = z
  .strictObject({
    sequenceParallel: z
      .boolean()
      .optional()
      .describe('Norms and dropout are split by tokens inside a tensor group (Megatron). Absent: false.'),
    contextAlgorithm: algorithm.optional().describe('Absent: ring.'),
    ulyssesDegree: z
      .int()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'Degree of the all-to-all of contextAlgorithm ulysses-ring; the ring has the rest of contextParallelDegree.',
      ),
    perLayerKind: z
      .strictObject({
        attention: algorithm.optional().describe('For layers with softmax attention.'),
        linearAttention: algorithm.optional().describe('For layers with linear attention.'),
        stateSpace: algorithm.optional().describe('For state-space (Mamba) layers.'),
      })
      .optional()
      .describe('For hybrid models: the algorithm of each kind of layer; overrides contextAlgorithm.'),
    causalBalance: z
      .enum(CAUSAL_BALANCES)
      .optional()
      .describe('How the work of a causal mask is balanced over ranks. Absent: head-tail.'),
    scanBlocks: z.int().min(1).max(4096).optional().describe('Blocks of the state that state-scan pipelines (ZeCO).'),
    dynamic: z
      .strictObject({
        method: z
          .enum(['flexsp', 'hybrid-data-parallel'])
          .describe(
            'flexsp: groups solved for each step. hybrid-data-parallel: as many ranks per sequence as it needs (ByteScale).',
          ),
        maxTokensPerRank: z.int().min(1).max(16_777_216).describe('Most tokens that one rank holds in a step.'),
        degrees: z.enum(['powers-of-two', 'any']).optional().describe('Absent: powers-of-two.'),
        solverCpuCores: z.int().min(0).max(256).optional().describe('CPU cores per pod that the solver needs.'),
        perTokenLoss: z.boolean().optional().describe('The loss is averaged over tokens, not samples.'),
      })
      .optional()
      .describe('Groups are chosen in each step by the lengths of its sequences.'),
  })
  .meta({ id: 'SequencePlan', description: 'How the tokens of one sample are divided.' });
export type SequencePlan = z.infer<typeof SequencePlan>;
