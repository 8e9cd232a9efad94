import type { TrainingJobSpecInput } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { renderEngine } from '../render-engine.ts';

type Model = NonNullable<TrainingJobSpecInput['model']>;

const LLAMA = {
  model_type: 'llama',
  hidden_size: 2048,
  intermediate_size: 8192,
  num_hidden_layers: 16,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: 128_256,
  rope_theta: 500_000,
};
const OF_LLAMA = {
  rope_type: 'llama3',
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
};

function told(model: Omit<Model, 'sequenceLength'>, args: readonly string[] = []): string {
  const rendered = renderEngine(
    aJobSpec({
      engine: { name: 'megatron-lm', image: 'any', args: [...args] },
      model: { ...model, sequenceLength: 4096 },
      layout: { dataParallelDegree: 2 },
      data: { format: 'mock' },
    }),
  );
  return rendered.kind === 'refused' ? rendered.why : [...rendered.command, ...rendered.notes].join(' ');
}

describe('Megatron-LM is told of a published model', () => {
  it.each<[string, Omit<Model, 'sequenceLength'>, string]>([
    [
      'the positions of Llama 3.1',
      { preset: 'llama-3.1-8b' },
      '--rotary-base 500000 --use-rope-scaling --rope-scaling-factor 8 ',
    ],
    [
      'the factor that Llama 3.2 scales them by',
      { huggingFace: { ...LLAMA, rope_scaling: { ...OF_LLAMA, factor: 32 } } },
      '--rotary-base 500000 --use-rope-scaling --rope-scaling-factor 32 ',
    ],
    [
      'them as transformers 5 writes them',
      { huggingFace: { ...LLAMA, rope_theta: null, rope_parameters: { ...OF_LLAMA, factor: 8, rope_theta: 500_000 } } },
      '--rotary-base 500000 --use-rope-scaling --rope-scaling-factor 8 ',
    ],
    [
      'in a note what it has no plain options for',
      { huggingFace: { ...LLAMA, rope_scaling: { type: 'yarn', factor: 4 } } },
      'the scaling of rotary positions in model.huggingFace (yarn) is not told',
    ],
    [
      'in a note another division of frequencies than it knows',
      { huggingFace: { ...LLAMA, rope_scaling: { ...OF_LLAMA, high_freq_factor: 8 } } },
      'the scaling of rotary positions in model.huggingFace (llama3) is not told',
    ],
    ['norms of queries and keys of Qwen 3', { preset: 'qwen3-8b' }, '--rotary-base 1000000 --qk-layernorm '],
    ['biases of Qwen 2', { huggingFace: { ...LLAMA, model_type: 'qwen2' } }, '--add-qkv-bias '],
  ])('%s', (_what, model, want) => {
    expect(told(model)).toContain(want);
  });

  it.each([
    ['another base than that of a preset', ['--rotary-base', '10000'], /--rotary-base 500000 .*--rotary-base 10000 /],
    ['norms that no word says', ['--qk-layernorm'], /--qk-layernorm/],
  ])('by arguments of the user: %s', (_what, args, want) => {
    expect(told({ preset: 'llama-3.1-8b' }, args)).toMatch(want);
  });
});
