import { all, type Change, changesOf, degrees, experts, over, release, setting } from './testing/index.ts';
const model = (values: Readonly<Record<string, unknown>>): Change => setting('model', values);
const hybrid = (layerPattern: string): Change =>
  model({
    layerPattern,
    layers: layerPattern.length,
    stateSpace: { stateSize: 64, heads: 16, headDim: 64, groups: 8 },
  });

it.each<[string, Change, readonly string[]]>([
  [
    'more experts for each token',
    all(experts, model({ experts: { count: 16, topK: 4, ffnHiddenSize: 512 } })),
    [
      '--num-experts 16',
      '--moe-router-topk 4',
      '--moe-ffn-hidden-size 512',
      'without --num-experts 8',
      'without --moe-router-topk 2',
      'without --moe-ffn-hidden-size 1024',
    ],
  ],
  [
    'an expert that every token visits',
    all(experts, model({ experts: { count: 8, topK: 2, ffnHiddenSize: 1024, sharedFfnHiddenSize: 2048 } })),
    ['--moe-shared-expert-intermediate-size 2048'],
  ],
  [
    'dense layers before those with experts',
    all(experts, model({ experts: { count: 8, topK: 2, ffnHiddenSize: 1024, denseLayers: 3 } })),
    ['--moe-layer-freq ([0]*3+[1]*5)'],
  ],
  [
    'tokens that are narrower on their way',
    all(experts, model({ experts: { count: 8, topK: 2, ffnHiddenSize: 1024, latentSize: 256 } })),
    ['--moe-latent-size 256'],
  ],
  [
    'experts in fp16, whose products are not grouped',
    all(experts, over('kernel', { precision: 'fp16' })),
    ['--fp16', 'note: weights are fp16 too, as Megatron-LM has it', 'without --moe-grouped-gemm', 'without --bf16'],
  ],
  [
    'experts in fp32, whose products are not grouped',
    all(experts, setting('training', { precision: 'fp32' })),
    ['without --moe-grouped-gemm', 'without --bf16'],
  ],
])('more of experts becomes options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change, experts)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'experts of each layer',
    experts,
    [
      '--num-experts 8',
      '--moe-router-topk 2',
      '--moe-ffn-hidden-size 1024',
      '--moe-grouped-gemm',
      '--expert-model-parallel-size 4',
      '--expert-tensor-parallel-size 1',
      '--moe-token-dispatcher-type alltoall',
    ],
  ],
  [
    'latent attention',
    model({
      latentAttention: { queryRank: 512, keyValueRank: 256, nopeHeadDim: 64, ropeHeadDim: 32, valueHeadDim: 48 },
    }),
    [
      '--multi-latent-attention',
      '--q-lora-rank 512',
      '--kv-lora-rank 256',
      '--qk-head-dim 64',
      '--qk-pos-emb-head-dim 32',
      '--v-head-dim 48',
    ],
  ],
  [
    'latent attention whose queries are not compressed',
    model({ latentAttention: { queryRank: 0, keyValueRank: 256, nopeHeadDim: 64, ropeHeadDim: 32, valueHeadDim: 48 } }),
    [
      '--multi-latent-attention',
      '--kv-lora-rank 256',
      '--qk-head-dim 64',
      '--qk-pos-emb-head-dim 32',
      '--v-head-dim 48',
    ],
  ],
  [
    'latent attention, in which heads share no keys',
    model({
      keyValueHeads: 4,
      latentAttention: { queryRank: 512, keyValueRank: 256, nopeHeadDim: 64, ropeHeadDim: 32, valueHeadDim: 48 },
    }),
    [
      '--multi-latent-attention',
      '--q-lora-rank 512',
      '--kv-lora-rank 256',
      '--qk-head-dim 64',
      '--qk-pos-emb-head-dim 32',
      '--v-head-dim 48',
    ],
  ],
  [
    'a pattern of layers, which gives their number',
    hybrid('M*-MM*-M'),
    [
      'python3 pretrain_hybrid.py',
      '--position-embedding-type none',
      '--mamba-state-dim 64',
      '--mamba-num-heads 16',
      '--mamba-head-dim 64',
      '--mamba-num-groups 8',
      '--hybrid-layer-pattern M*-MM*-M',
      '--spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec',
      'without python3 pretrain_gpt.py',
      'without --num-layers 8',
      'without --position-embedding-type rope',
      'without note: rotary positions have the base 10000 unless engine.args give --rotary-base',
    ],
  ],
  [
    'attention in a pattern, which the engine writes as a star',
    hybrid('MA-M'),
    [
      'python3 pretrain_hybrid.py',
      '--position-embedding-type none',
      '--mamba-state-dim 64',
      '--mamba-num-heads 16',
      '--mamba-head-dim 64',
      '--mamba-num-groups 8',
      '--hybrid-layer-pattern M*-M',
      '--spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec',
      'without python3 pretrain_gpt.py',
      'without --num-layers 8',
      'without --position-embedding-type rope',
      'without note: rotary positions have the base 10000 unless engine.args give --rotary-base',
    ],
  ],
  [
    'a pattern before core_v0.17, beside the number of layers',
    all(release('core_v0.16.1'), hybrid('MA-M')),
    [
      'python3 pretrain_mamba.py',
      '--num-layers 4',
      '--position-embedding-type none',
      '--mamba-state-dim 64',
      '--mamba-num-heads 16',
      '--mamba-head-dim 64',
      '--mamba-num-groups 8',
      '--hybrid-override-pattern M*-M',
      '--is-hybrid-model',
      '--spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec',
      'without python3 pretrain_gpt.py',
      'without --num-layers 8',
      'without --position-embedding-type rope',
      'without note: rotary positions have the base 10000 unless engine.args give --rotary-base',
    ],
  ],
  [
    'a pattern of core_v0.17, whose program has the old name',
    all(release('core_v0.17.1'), hybrid('MA-M')),
    [
      'python3 pretrain_mamba.py',
      '--position-embedding-type none',
      '--mamba-state-dim 64',
      '--mamba-num-heads 16',
      '--mamba-head-dim 64',
      '--mamba-num-groups 8',
      '--hybrid-layer-pattern M*-M',
      '--spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec',
      'without python3 pretrain_gpt.py',
      'without --num-layers 8',
      'without --position-embedding-type rope',
      'without note: rotary positions have the base 10000 unless engine.args give --rotary-base',
    ],
  ],
])('experts, latent attention and state-space layers become options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'a table of positions shorter than samples',
    model({ learnedPositions: 2047 }),
    [
      'positions-cover-samples',
      'model.learnedPositions',
      'model.learnedPositions 2047 are fewer than the 2048 tokens of a sample',
      'set model.sequenceLength to 2047 or less',
    ],
  ],
  [
    'later tokens beside a table of positions',
    model({ mtpLayers: 1, learnedPositions: 2048 }),
    [
      'mtp-is-not-of-learned-positions',
      'model.mtpLayers',
      'Megatron-LM predicts several tokens only where positions are rotary or none',
      'leave model.mtpLayers out, or model.learnedPositions',
    ],
  ],
  [
    'windows that come in uneven steps',
    model({ attentionWindow: 512, windowedLayers: 5 }),
    [
      'windows-in-even-steps',
      'model.windowedLayers',
      'Megatron-LM leaves each n-th layer without a window, which 5 of 8 layers are not',
      'start a program of your own by engine.command',
    ],
  ],
  [
    'layers of linear attention',
    hybrid('ML-M'),
    [
      'no-linear-attention',
      'model.layerPattern',
      'layers of linear attention are not rendered',
      'use engine "command"',
    ],
  ],
  [
    'a pattern in the program of GPT',
    all(hybrid('MA-M'), setting('engine', { command: ['python3', 'pretrain_gpt.py'] })),
    [
      'pattern-needs-hybrid',
      'model.layerPattern',
      'the program takes no pattern of layers',
      'leave engine.command out',
    ],
  ],
  [
    'a pattern in the program of BERT',
    all(hybrid('MA-M'), setting('engine', { command: ['python3', '/opt/pretrain_bert.py'] })),
    [
      'pattern-needs-hybrid',
      'model.layerPattern',
      'the program takes no pattern of layers',
      'leave engine.command out',
    ],
  ],
  [
    'a convolution of another width',
    model({
      layerPattern: 'MA-M',
      layers: 4,
      stateSpace: { stateSize: 64, heads: 16, headDim: 64, groups: 8, convKernel: 3 },
    }),
    [
      'convolution-of-mamba-mixer',
      'model.stateSpace.convKernel',
      'the convolution of Mamba layers in Megatron-LM is 4 wide, not 3',
      'use 4',
    ],
  ],
  [
    'attention sinks on a ring',
    all(model({ attentionSinks: true }), degrees({ contextParallelDegree: 2 })),
    [
      'sinks-need-ulysses',
      'layout.sequence.contextAlgorithm',
      'attention sinks do not go with contextAlgorithm ring',
      'use ulysses, or contextParallelDegree 1',
    ],
  ],
  [
    'attention sinks beside another softmax',
    all(model({ attentionSinks: true }), over('kernel', { softmax: 'vanilla' })),
    [
      'sinks-are-learnt',
      'layout.kernel.softmax',
      'layout.kernel.softmax is vanilla, and that of a model with attention sinks is learnable',
      'leave kernel.softmax out',
    ],
  ],
])('a model that Megatron-LM lacks is refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});
