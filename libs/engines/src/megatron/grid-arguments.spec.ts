import type { ParallelLayout } from '@coxswain/layout';
import { all, type Change, changesOf, degrees, experts, over, release } from './testing/index.ts';
type Experts = NonNullable<ParallelLayout['expert']>;
const expert = (values: Partial<Experts>): Change =>
  all(experts, ({ layout }) => {
    layout.expert = { expertParallelDegree: 4, ...layout.expert, ...values };
  });
const two = degrees({ pipelineParallelDegree: 2 });

it.each<[string, Change, readonly string[]]>([
  [
    'tensors, which need one connection of a GPU',
    degrees({ tensorParallelDegree: 4 }),
    ['--tensor-model-parallel-size 4', 'CUDA_DEVICE_MAX_CONNECTIONS=1', 'without --tensor-model-parallel-size 1'],
  ],
  ['a pipeline', two, ['--pipeline-model-parallel-size 2', 'without --pipeline-model-parallel-size 1']],
  [
    'context, which needs one connection of a GPU',
    degrees({ contextParallelDegree: 2 }),
    ['--context-parallel-size 2', 'CUDA_DEVICE_MAX_CONNECTIONS=1', 'without --context-parallel-size 1'],
  ],
  [
    'copies and shards of weights by their product with tensors',
    all(degrees({ tensorParallelDegree: 2, weightShardDegree: 2 }), over('states', { zeroStage: 1 })),
    [
      '--tensor-model-parallel-size 2',
      '--tensor-parallel-num-weight-shards 4',
      '--use-distributed-optimizer',
      'CUDA_DEVICE_MAX_CONNECTIONS=1',
      'without --tensor-model-parallel-size 1',
    ],
  ],
  [
    'an order of ranks in which pipelines come before copies',
    degrees({ rankOrder: ['tensor', 'context', 'expert', 'pipeline', 'data'], pipelineParallelDegree: 2 }),
    ['--pipeline-model-parallel-size 2', '--use-tp-pp-dp-mapping', 'without --pipeline-model-parallel-size 1'],
  ],
])('degrees become options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'copies before tensors',
    degrees({
      rankOrder: ['data', 'tensor', 'context', 'expert', 'pipeline'],
      tensorParallelDegree: 2,
      dataParallelDegree: 2,
    }),
    [
      'megatron-has-two-rank-orders',
      'layout.rankOrder',
      'Megatron-LM orders ranks by tensor, context, expert, data, pipeline or by tensor, context, expert, pipeline, data, not by data, tensor, context, expert, pipeline',
      'give one of the two orders, or leave rankOrder out',
    ],
  ],
  [
    'pipelines before context',
    degrees({
      rankOrder: ['tensor', 'pipeline', 'context', 'expert', 'data'],
      contextParallelDegree: 2,
      pipelineParallelDegree: 2,
    }),
    [
      'megatron-has-two-rank-orders',
      'layout.rankOrder',
      'Megatron-LM orders ranks by tensor, context, expert, data, pipeline or by tensor, context, expert, pipeline, data, not by tensor, pipeline, context, expert, data',
      'give one of the two orders, or leave rankOrder out',
    ],
  ],
])('an order of ranks that Megatron-LM has not is refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

/** In place of the exchange that is rendered where the layout names no dispatcher. */
const dispatched = (type: string, ...more: readonly string[]): readonly string[] => [
  `--moe-token-dispatcher-type ${type}`,
  ...more,
  'without --moe-token-dispatcher-type alltoall',
];

it.each<[string, Change, readonly string[]]>([
  ['tokens that every rank gathers', expert({ dispatcher: 'allgather' }), dispatched('allgather')],
  ['tokens that ranks exchange, as without a word', expert({ dispatcher: 'alltoall' }), []],
  [
    'DeepEP, which is a backend of flex',
    expert({ dispatcher: 'deepep' }),
    dispatched('flex', '--moe-flex-dispatcher-backend deepep'),
  ],
  [
    'DeepEP by the switch of a release before backends',
    all(release('core_v0.15.3'), expert({ dispatcher: 'deepep' })),
    dispatched('flex', '--moe-enable-deepep'),
  ],
  ['HybridEP', expert({ dispatcher: 'hybridep' }), dispatched('flex', '--moe-flex-dispatcher-backend hybridep')],
  [
    'inputs that are padded to the capacity',
    expert({ capacityFactor: 2, padToCapacity: true }),
    ['--moe-expert-capacity-factor 2', '--moe-pad-expert-input-to-capacity'],
  ],
  [
    'no padding without a capacity',
    expert({ padToCapacity: true }),
    [
      'padding-needs-capacity',
      'layout.expert.padToCapacity',
      'expert.padToCapacity needs expert.capacityFactor, which gives the capacity',
      'give expert.capacityFactor, or leave expert.padToCapacity out',
    ],
  ],
  ['room for a multiple of the tokens', expert({ capacityFactor: 1.25 }), ['--moe-expert-capacity-factor 1.25']],
  [
    'tokens beyond it that leave by position',
    expert({ capacityFactor: 1, tokenDropOrder: 'position' }),
    ['--moe-expert-capacity-factor 1', '--moe-token-drop-policy position'],
  ],
  [
    'tokens beyond it that leave by probability',
    expert({ capacityFactor: 1, tokenDropOrder: 'probability' }),
    ['--moe-expert-capacity-factor 1', '--moe-token-drop-policy probs'],
  ],
  ['no balance', expert({ balance: 'none' }), ['--moe-router-load-balancing-type none']],
  [
    'a loss that balances, with a coefficient above zero',
    expert({ balance: 'aux-loss' }),
    [
      '--moe-router-load-balancing-type aux_loss',
      '--moe-aux-loss-coeff 0.01',
      'note: the auxiliary loss has the coefficient 0.01 unless engine.args give --moe-aux-loss-coeff',
    ],
  ],
  [
    'a bias that balances, with the scores that it needs',
    expert({ balance: 'bias' }),
    ['--moe-router-load-balancing-type none', '--moe-router-enable-expert-bias', '--moe-router-score-function sigmoid'],
  ],
])('experts of a layout become options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change, experts)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'tokens that leave at random',
    expert({ capacityFactor: 1, tokenDropOrder: 'random' }),
    [
      'tokens-drop-in-order',
      'layout.expert.tokenDropOrder',
      'Megatron-LM drops tokens by position or by probability',
      'use position or probability',
    ],
  ],
  [
    'an order of leaving without a bound',
    expert({ tokenDropOrder: 'position' }),
    [
      'drop-order-needs-capacity',
      'layout.expert.tokenDropOrder',
      'expert.tokenDropOrder position is given, and without expert.capacityFactor no token is dropped',
      'give expert.capacityFactor, or leave expert.tokenDropOrder out',
    ],
  ],
  [
    'HybridEP before it came',
    all(release('core_v0.15.3'), expert({ dispatcher: 'hybridep' })),
    [
      'release-has-option',
      'layout.expert.dispatcher',
      'Megatron-LM core_v0.15.3 has no --moe-flex-dispatcher-backend',
      'set engine.release to core_v0.16.1 or core_v0.17.1 or core_v0.18.2 or core_v0.19.0, or leave layout.expert.dispatcher out',
    ],
  ],
  [
    'fp16 products in core_v0.15',
    all(release('core_v0.15.3'), expert({}), over('kernel', { precision: 'fp16' })),
    ['experts-in-fp16', 'layout.kernel.precision', 'core_v0.15.3 has no expert parallelism in fp16', 'use bf16'],
  ],
])('experts that Megatron-LM cannot have are refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});
