import type { ParallelLayout } from '@coxswain/layout';
import { all, type Change, changesOf, degrees, over } from './testing/index.ts';
const four = degrees({ contextParallelDegree: 4 });
const sequence = (values: NonNullable<ParallelLayout['sequence']>): Change => all(four, over('sequence', values));
const sharded = over('states', { zeroStage: 1, implementation: 'distributed-optimizer' });
const dynamic = (values: object): Change =>
  all(
    sharded,
    sequence({ dynamic: { method: 'hybrid-data-parallel', maxTokensPerRank: 512, perTokenLoss: true, ...values } }),
  );

it.each<[string, Change, readonly string[]]>([
  [
    'pieces that the ranks of a tensor share',
    all(degrees({ tensorParallelDegree: 2 }), over('sequence', { sequenceParallel: true })),
    [
      '--tensor-model-parallel-size 2',
      '--sequence-parallel',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'without --tensor-model-parallel-size 1',
    ],
  ],
  [
    'a ring',
    sequence({ contextAlgorithm: 'ring' }),
    [
      '--context-parallel-size 4',
      '--cp-comm-type p2p',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'without --context-parallel-size 1',
    ],
  ],
  [
    'keys and values that are gathered',
    sequence({ contextAlgorithm: 'allgather' }),
    [
      '--context-parallel-size 4',
      '--cp-comm-type all_gather',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'without --context-parallel-size 1',
    ],
  ],
  [
    'heads that are exchanged',
    sequence({ contextAlgorithm: 'ulysses' }),
    [
      '--context-parallel-size 4',
      '--cp-comm-type a2a',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'without --context-parallel-size 1',
    ],
  ],
  [
    'heads within and a ring between',
    sequence({ contextAlgorithm: 'ulysses-ring', ulyssesDegree: 2 }),
    [
      '--context-parallel-size 4',
      '--cp-comm-type a2a+p2p',
      '--hierarchical-context-parallel-sizes 2 2',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'without --context-parallel-size 1',
    ],
  ],
  [
    'dist-flash, which runs as a ring',
    sequence({ contextAlgorithm: 'dist-flash' }),
    [
      '--context-parallel-size 4',
      '--cp-comm-type p2p',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'note: dist-flash runs as the P2P ring of Transformer Engine, which gives each rank a chunk from the head and one from the tail of a sample, without helpers',
      'without --context-parallel-size 1',
    ],
  ],
  [
    'dist-flash with helpers, in the same note',
    sequence({ contextAlgorithm: 'dist-flash', causalBalance: 'helper' }),
    [
      '--context-parallel-size 4',
      '--cp-comm-type p2p',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'note: dist-flash runs as the P2P ring of Transformer Engine, which gives each rank a chunk from the head and one from the tail of a sample, without helpers',
      'without --context-parallel-size 1',
    ],
  ],
  [
    'what attention has of its own, over what all layers have',
    sequence({ contextAlgorithm: 'ring', perLayerKind: { attention: 'allgather' } }),
    [
      '--context-parallel-size 4',
      '--cp-comm-type all_gather',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'without --context-parallel-size 1',
    ],
  ],
  [
    'state-space layers that exchange heads, as they do anyway',
    sequence({ contextAlgorithm: 'ulysses', perLayerKind: { stateSpace: 'ulysses' } }),
    [
      '--context-parallel-size 4',
      '--cp-comm-type a2a',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'without --context-parallel-size 1',
    ],
  ],
  [
    'head and tail, as batches are cut anyway',
    sequence({ contextAlgorithm: 'ring', causalBalance: 'head-tail' }),
    [
      '--context-parallel-size 4',
      '--cp-comm-type p2p',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'without --context-parallel-size 1',
    ],
  ],
  [
    'samples of unlike lengths',
    dynamic({}),
    [
      '--context-parallel-size 4',
      '--hybrid-context-parallel',
      '--max-seqlen-per-dp-cp-rank 512',
      '--calculate-per-token-loss',
      '--use-distributed-optimizer',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'without --context-parallel-size 1',
    ],
  ],
  [
    'samples of unlike lengths in groups of powers of two',
    dynamic({ degrees: 'powers-of-two', maxTokensPerRank: 1024 }),
    [
      '--context-parallel-size 4',
      '--hybrid-context-parallel',
      '--max-seqlen-per-dp-cp-rank 1024',
      '--calculate-per-token-loss',
      '--use-distributed-optimizer',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'without --context-parallel-size 1',
    ],
  ],
])('the division of a sample becomes options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'pieces that one rank would hold',
    over('sequence', { sequenceParallel: true }),
    [
      'sequence-parallel-needs-tensor',
      'layout.sequence.sequenceParallel',
      'Megatron-LM turns sequenceParallel off where tensorParallelDegree is 1',
      'leave sequence.sequenceParallel out',
    ],
  ],
  [
    'an algorithm that Transformer Engine lacks',
    sequence({ contextAlgorithm: 'token-ring' }),
    [
      'context-algorithm-of-transformer-engine',
      'layout.sequence.contextAlgorithm',
      'Transformer Engine has no token-ring',
      'use ring, allgather, ulysses or ulysses-ring',
    ],
  ],
  [
    'another one',
    sequence({ contextAlgorithm: 'magi' }),
    [
      'context-algorithm-of-transformer-engine',
      'layout.sequence.contextAlgorithm',
      'Transformer Engine has no magi',
      'use ring, allgather, ulysses or ulysses-ring',
    ],
  ],
  [
    'two levels without context',
    over('sequence', { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 2 }),
    [
      'two-levels-need-context',
      'layout.sequence.contextAlgorithm',
      'ulysses-ring has two levels of ranks, and contextParallelDegree is 1',
      'give contextParallelDegree, or leave it out',
    ],
  ],
  [
    'an inner degree without two levels',
    sequence({ contextAlgorithm: 'ring', ulyssesDegree: 2 }),
    [
      'ulysses-degree-needs-both',
      'layout.sequence.ulyssesDegree',
      'sequence.ulyssesDegree 2 is the inner part of ulysses-ring, which contextAlgorithm is not',
      'leave sequence.ulyssesDegree out, or set contextAlgorithm to ulysses-ring',
    ],
  ],
  [
    'an inner degree of no algorithm',
    sequence({ ulyssesDegree: 4 }),
    [
      'ulysses-degree-needs-both',
      'layout.sequence.ulyssesDegree',
      'sequence.ulyssesDegree 4 is the inner part of ulysses-ring, which contextAlgorithm is not',
      'leave sequence.ulyssesDegree out, or set contextAlgorithm to ulysses-ring',
    ],
  ],
  [
    'state-space layers on a ring',
    sequence({ contextAlgorithm: 'ring', perLayerKind: { stateSpace: 'ring' } }),
    [
      'state-space-exchanges-heads',
      'layout.sequence.perLayerKind.stateSpace',
      'state-space layers of Megatron-LM are split by ulysses, not by ring',
      'set it to ulysses, or leave it out',
    ],
  ],
  [
    'layers of linear attention',
    sequence({ contextAlgorithm: 'ring', perLayerKind: { linearAttention: 'allgather' } }),
    [
      'no-linear-attention',
      'layout.sequence.perLayerKind.linearAttention',
      'layers of linear attention are not rendered for Megatron-LM',
      'use engine linear-moe by engine "command"',
    ],
  ],
  [
    'helpers of a ring',
    sequence({ contextAlgorithm: 'ring', causalBalance: 'helper' }),
    [
      'causal-balance-is-head-tail',
      'layout.sequence.causalBalance',
      'Megatron-LM balances a causal mask by head and tail, not by helper',
      'use head-tail, or leave sequence.causalBalance out',
    ],
  ],
  [
    'no balance',
    sequence({ contextAlgorithm: 'ring', causalBalance: 'none' }),
    [
      'causal-balance-is-head-tail',
      'layout.sequence.causalBalance',
      'Megatron-LM balances a causal mask by head and tail, not by none',
      'use head-tail, or leave sequence.causalBalance out',
    ],
  ],
  [
    'groups of any number of ranks',
    dynamic({ degrees: 'any' }),
    [
      'dynamic-degrees-are-powers',
      'layout.sequence.dynamic.degrees',
      'groups of Megatron-LM have powers of two of ranks',
      'use powers-of-two',
    ],
  ],
  [
    'a solver beside the ranks',
    dynamic({ solverCpuCores: 4 }),
    [
      'dynamic-has-no-solver',
      'layout.sequence.dynamic.solverCpuCores',
      'Megatron-LM has no solver beside its ranks',
      'leave it out',
    ],
  ],
])('a division that Megatron-LM lacks is refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});
