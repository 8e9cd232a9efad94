import { MEGATRON_RELEASES, megatronRelease } from './releases.ts';
import { readArguments } from './read-arguments.ts';

const table = megatronRelease('core_v0.16.1')?.options ?? new Map();

describe('what Megatron-LM’s parser makes of words', () => {
  it.each<[string, string, readonly (readonly [string, readonly string[]])[]]>([
    ['a value behind its flag', '--num-layers 8', [['num_layers', ['8']]]],
    ['a value behind a sign', '--num-layers=8', [['num_layers', ['8']]]],
    ['a switch', '--sequence-parallel', [['sequence_parallel', ['true']]]],
    ['a switch that sets false', '--disable-bias-linear', [['add_bias_linear', ['false']]]],
    [
      'values up to the next flag',
      '--data-path 0.5 a --swiglu',
      [
        ['data_path', ['0.5', 'a']],
        ['swiglu', ['true']],
      ],
    ],
    [
      'a negative number, which is no flag',
      '--inference-batch-times-seqlen-threshold -1',
      [['inference_batch_times_seqlen_threshold', ['-1']]],
    ],
    [
      'two names of one thing',
      '--lr 1e-4 --lr .5',
      [
        ['lr', ['1e-4']],
        ['lr', ['.5']],
      ],
    ],
  ])('%s', (_sentence, words, read) => {
    const found = readArguments(words.split(' '), table);
    expect(found.problems).toEqual([]);
    expect(found.read.map(({ dest, values }) => [dest, values])).toEqual(read);
  });

  it.each([
    ['--num-layer 8', 'unknown', '--num-layer is no option'],
    ['--tensor-model-parallel 2', 'unknown', '--tensor-model-parallel is no option'],
    ['--num-layers', 'arity', '--num-layers takes 1 value'],
    ['--swiglu=1', 'arity', '--swiglu takes no value'],
    ['--num-layers 8.5', 'value', '--num-layers 8.5 is not of type int'],
    ['--ckpt-format tar', 'value', '--ckpt-format tar is not one of torch, torch_dist, torch_dcp, fsdp_dtensor'],
    ['8', 'stray', '"8" belongs to no option'],
  ])('%s is a problem: %s', (words, kind, sentence) => {
    const [problem] = readArguments(words.split(' '), table).problems;
    expect([problem?.kind, problem?.sentence]).toEqual([kind, sentence]);
  });
});

describe('releases of Megatron-LM', () => {
  it.each([
    [undefined, 'core_v0.19.0'],
    ['core_v0.16.1', 'core_v0.16.1'],
    ['core_v0.16.0', 'core_v0.16.1'],
    ['0.15.2', 'core_v0.15.3'],
    ['core_v0.14.0', undefined],
    ['main', undefined],
  ])('%s has the options of %s', (name, tag) => {
    expect(megatronRelease(name)?.tag).toBe(tag);
  });

  it('have hundreds of options each, and more with each release', () => {
    const counts = MEGATRON_RELEASES.map(({ options }) => options.size);
    expect(counts).toEqual(counts.toSorted((one, other) => one - other));
    expect(counts[0]).toBeGreaterThan(500);
  });
});
