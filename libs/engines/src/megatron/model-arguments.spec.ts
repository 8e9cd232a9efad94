import { all, type Change, changesOf, release, setting } from './testing/index.ts';
const model = (values: Readonly<Record<string, unknown>>): Change => setting('model', values);

it.each<[string, Change, readonly string[]]>([
  ['layers', model({ layers: 12 }), ['--num-layers 12', 'without --num-layers 8']],
  [
    'a hidden size, beside which the size of a head stays',
    model({ hiddenSize: 2048 }),
    ['--hidden-size 2048', 'without --hidden-size 1024'],
  ],
  [
    'the size of the feed-forward layers',
    model({ ffnHiddenSize: 8192 }),
    ['--ffn-hidden-size 8192', 'without --ffn-hidden-size 4096'],
  ],
  [
    'heads of attention, each with keys of its own',
    model({ attentionHeads: 8, keyValueHeads: 8 }),
    ['--num-attention-heads 8', 'without --num-attention-heads 16'],
  ],
  ['heads that share keys', model({ keyValueHeads: 4 }), ['--group-query-attention', '--num-query-groups 4']],
  ['one head of keys for all', model({ keyValueHeads: 1 }), ['--group-query-attention', '--num-query-groups 1']],
  ['the size of a head', model({ headDim: 128 }), ['--kv-channels 128', 'without --kv-channels 64']],
  [
    'a vocabulary, one smaller before core_v0.18 whose tokenizer adds an end',
    all(release('core_v0.17.1'), model({ vocabularySize: 50_000 })),
    ['--vocab-size 49999', 'without --vocab-size 32767'],
  ],
  [
    'a vocabulary, as it is from core_v0.18 on',
    model({ vocabularySize: 50_000 }),
    ['--vocab-size 50000', 'without --vocab-size 32768'],
  ],
  [
    'the length of samples, which positions cover',
    model({ sequenceLength: 4096 }),
    [
      '--seq-length 4096',
      '--max-position-embeddings 4096',
      'without --seq-length 2048',
      'without --max-position-embeddings 2048',
    ],
  ],
])('the size of a model becomes an option of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  ['plain feed-forward layers', model({ gatedMlp: false }), ['without --swiglu']],
  ['norms with a mean', model({ rmsNorm: false }), ['--normalization LayerNorm', 'without --normalization RMSNorm']],
  ['biases of linear layers', model({ linearBias: true }), ['without --disable-bias-linear']],
  [
    "dropout, whose rate stays the engine's",
    model({ dropout: true }),
    [
      'note: dropout is that of Megatron-LM, 0.1, unless engine.args override it',
      'without --attention-dropout 0.0',
      'without --hidden-dropout 0.0',
    ],
  ],
  ['tied embeddings', model({ tiedEmbeddings: true }), ['without --untie-embeddings-and-output-weights']],
  ['layers that predict later tokens', model({ mtpLayers: 2 }), ['--mtp-num-layers 2']],
  [
    'a table of positions as long as samples',
    model({ learnedPositions: 2048 }),
    [
      '--position-embedding-type learned_absolute',
      'without --position-embedding-type rope',
      'without note: rotary positions have the base 10000 unless engine.args give --rotary-base',
    ],
  ],
  [
    'a longer table of positions',
    model({ learnedPositions: 8192 }),
    [
      '--position-embedding-type learned_absolute',
      '--max-position-embeddings 8192',
      'without --position-embedding-type rope',
      'without --max-position-embeddings 2048',
      'without note: rotary positions have the base 10000 unless engine.args give --rotary-base',
    ],
  ],
  ['a window of attention in every layer', model({ attentionWindow: 512, windowedLayers: 8 }), ['--window-size 511,0']],
  [
    'a window in every layer but each second',
    model({ attentionWindow: 512, windowedLayers: 4 }),
    ['--window-size 511,0', '--window-attn-skip-freq 2', 'note: one layer in 2 has no window'],
  ],
  [
    'a window in every layer but each fourth',
    model({ attentionWindow: 128, windowedLayers: 6 }),
    ['--window-size 127,0', '--window-attn-skip-freq 4', 'note: one layer in 4 has no window'],
  ],
  ['attention sinks', model({ attentionSinks: true }), ['--softmax-type learnable']],
])('a part of the layers becomes an option of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});
