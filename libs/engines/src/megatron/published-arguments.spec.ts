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
const DEEPSEEK = {
  model_type: 'deepseek_v3',
  hidden_size: 2048,
  intermediate_size: 8192,
  num_hidden_layers: 16,
  num_attention_heads: 16,
  num_key_value_heads: 16,
  vocab_size: 102_400,
  rope_theta: 10_000,
  q_lora_rank: 512,
  kv_lora_rank: 256,
  qk_nope_head_dim: 128,
  qk_rope_head_dim: 64,
  v_head_dim: 128,
  n_routed_experts: 8,
  num_experts_per_tok: 2,
  moe_intermediate_size: 1024,
  n_shared_experts: 1,
  first_k_dense_replace: 1,
};
const YARN = { type: 'yarn', factor: 40, beta_fast: 32, beta_slow: 1, original_max_position_embeddings: 4096 };
const OF_LLAMA = {
  rope_type: 'llama3',
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
};

function argumentsOf(
  model: Omit<Model, 'sequenceLength'>,
  args: readonly string[] = [],
  release = 'core_v0.16.1',
): string {
  const rendered = renderEngine(
    aJobSpec({
      engine: { name: 'megatron-lm', image: 'any', release, args: [...args] },
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
      'in a note that a release does not hand that factor to the model',
      { huggingFace: { ...LLAMA, rope_scaling: { ...OF_LLAMA, factor: 32 } } },
      'ignores --rope-scaling-factor and scales rotary positions by 8, not by 32',
    ],
    [
      'them as transformers 5 writes them',
      { huggingFace: { ...LLAMA, rope_theta: null, rope_parameters: { ...OF_LLAMA, factor: 8, rope_theta: 500_000 } } },
      '--rotary-base 500000 --use-rope-scaling --rope-scaling-factor 8 ',
    ],
    [
      'in a note what it has no plain options for',
      { huggingFace: { ...LLAMA, rope_scaling: { type: 'yarn', factor: 4 } } },
      'the scaling of rotary positions in model.huggingFace (yarn) is not rendered',
    ],
    [
      'what DeepSeek-V3 scales the positions of its latent attention by',
      { preset: 'deepseek-v3' },
      '--rotary-base 10000 --rope-type yarn --rotary-scaling-factor 40 --mscale 1 --mscale-all-dim 1 ',
    ],
    [
      'the same as a config.json says it',
      { huggingFace: { ...DEEPSEEK, rope_scaling: { ...YARN, mscale: 0.707, mscale_all_dim: 0.707 } } },
      '--rope-type yarn --rotary-scaling-factor 40 --mscale 0.707 --mscale-all-dim 0.707 ',
    ],
    [
      'what the parser has where a config.json says less',
      { huggingFace: { ...DEEPSEEK, rope_scaling: { type: 'yarn', factor: 16 } } },
      '--rotary-scaling-factor 16 --mscale 1 --mscale-all-dim 0 ',
    ],
    [
      'in a note a length before scaling that it has no option for',
      { huggingFace: { ...DEEPSEEK, rope_scaling: { ...YARN, original_max_position_embeddings: 32_768 } } },
      'the scaling of rotary positions in model.huggingFace (yarn) is not rendered',
    ],
    [
      'in a note another division of frequencies than it knows',
      { huggingFace: { ...LLAMA, rope_scaling: { ...OF_LLAMA, high_freq_factor: 8 } } },
      'the scaling of rotary positions in model.huggingFace (llama3) is not rendered',
    ],
    ['norms of queries and keys of Qwen 3', { preset: 'qwen3-8b' }, '--rotary-base 1000000 --qk-layernorm '],
    ['biases of Qwen 2', { huggingFace: { ...LLAMA, model_type: 'qwen2' } }, '--add-qkv-bias '],
  ])('%s', (_what, model, want) => {
    expect(argumentsOf(model)).toContain(want);
  });

  it('and nothing of it by a release that does', () => {
    const model = { huggingFace: { ...LLAMA, rope_scaling: { ...OF_LLAMA, factor: 32 } } };
    expect(argumentsOf(model, [], 'core_v0.19.0')).not.toContain('ignores --rope-scaling-factor');
  });

  it.each([
    ['another base than that of a preset', ['--rotary-base', '10000'], /--rotary-base 500000 .*--rotary-base 10000\b/],
    ['norms that no word says', ['--qk-layernorm'], /--qk-layernorm/],
  ])('by arguments of the user: %s', (_what, args, want) => {
    expect(argumentsOf({ preset: 'llama-3.1-8b' }, args)).toMatch(want);
  });
});
