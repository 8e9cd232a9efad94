import { changesOf, type Change, setting } from './testing/index.ts';
const indexed = (values: Readonly<Record<string, unknown>>): Change =>
  setting('data', { format: 'indexed', claimName: 'corpus', path: 'a', ...values });

it.each<[string, Change, readonly string[]]>([
  ['one prefix', indexed({}), ['--data-path /coxswain/data/a', 'without --mock-data']],
  [
    'a prefix by the name of one of its files',
    indexed({ path: 'tokens/a.bin' }),
    ['--data-path /coxswain/data/tokens/a', 'without --mock-data'],
  ],
  [
    'a prefix by the name of its index',
    indexed({ path: 'tokens/a.idx' }),
    ['--data-path /coxswain/data/tokens/a', 'without --mock-data'],
  ],
  [
    'a prefix whose name has a dot',
    indexed({ path: 'tokens/a.v2' }),
    ['--data-path /coxswain/data/tokens/a.v2', 'without --mock-data'],
  ],
  [
    'several prefixes, each behind its weight',
    indexed({ path: undefined, paths: [{ path: 'a.bin', weight: 0.25 }, { path: 'b' }] }),
    ['--data-path 0.25 /coxswain/data/a 1 /coxswain/data/b', 'without --mock-data'],
  ],
  [
    'a part that validates',
    indexed({ split: { train: 98, validation: 2, test: 0 } }),
    [
      '--data-path /coxswain/data/a',
      '--split 98,2,0',
      'without --mock-data',
      'without --split 1,0,0',
      'without --eval-iters 0',
    ],
  ],
  [
    'parts that validate and test',
    indexed({ split: { train: 90, validation: 9, test: 1 } }),
    [
      '--data-path /coxswain/data/a',
      '--split 90,9,1',
      'without --mock-data',
      'without --split 1,0,0',
      'without --eval-iters 0',
    ],
  ],
  [
    'a tokenizer',
    indexed({ tokenizer: { path: 'tokenizers/llama' } }),
    [
      '--data-path /coxswain/data/a',
      '--tokenizer-type HuggingFaceTokenizer',
      '--tokenizer-model /coxswain/data/tokenizers/llama',
      'without --mock-data',
      'without --tokenizer-type NullTokenizer',
      'without --vocab-size 32768',
    ],
  ],
])('data become options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'plain text',
    indexed({ format: 'text' }),
    [
      'data-is-indexed',
      'data.format',
      'Megatron-LM reads tokens that are indexed, or makes them up, and not text',
      'make .bin and .idx by its tools/preprocess_data.py and set data.format to indexed',
    ],
  ],
  [
    'JSON lines',
    indexed({ format: 'jsonl' }),
    [
      'data-is-indexed',
      'data.format',
      'Megatron-LM reads tokens that are indexed, or makes them up, and not jsonl',
      'make .bin and .idx by its tools/preprocess_data.py and set data.format to indexed',
    ],
  ],
  [
    'a data set of Hugging Face',
    indexed({ format: 'hf' }),
    [
      'data-is-indexed',
      'data.format',
      'Megatron-LM reads tokens that are indexed, or makes them up, and not hf',
      'make .bin and .idx by its tools/preprocess_data.py and set data.format to indexed',
    ],
  ],
])('data that Megatron-LM does not read are refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});
