/** More than 400 lines: a table of published configurations, with the model that each is read as. */
import { isDomainError } from '@coxswain/domain-error';
import { parametersOf } from '../memory/parameters.ts';
import { modelFromHuggingFace } from './hugging-face.ts';
import { modelOf } from './models.ts';

/** Bodies of published `config.json` files, cut down to the keys that are read. */
const PUBLISHED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'Meta-Llama-3.1-8B': {
    model_type: 'llama',
    hidden_size: 4096,
    intermediate_size: 14336,
    num_attention_heads: 32,
    num_hidden_layers: 32,
    num_key_value_heads: 8,
    tie_word_embeddings: false,
    vocab_size: 128256,
  },
  'Mistral-7B-v0.1': {
    model_type: 'mistral',
    hidden_size: 4096,
    intermediate_size: 14336,
    num_attention_heads: 32,
    num_hidden_layers: 32,
    num_key_value_heads: 8,
    sliding_window: 4096,
    tie_word_embeddings: false,
    vocab_size: 32000,
  },
  'Mixtral-8x7B-v0.1': {
    model_type: 'mixtral',
    hidden_size: 4096,
    intermediate_size: 14336,
    num_attention_heads: 32,
    num_experts_per_tok: 2,
    num_hidden_layers: 32,
    num_key_value_heads: 8,
    num_local_experts: 8,
    sliding_window: null,
    tie_word_embeddings: false,
    vocab_size: 32000,
  },
  'Qwen2-7B': {
    model_type: 'qwen2',
    hidden_size: 3584,
    intermediate_size: 18944,
    num_attention_heads: 28,
    num_hidden_layers: 28,
    num_key_value_heads: 4,
    sliding_window: 131072,
    tie_word_embeddings: false,
    use_sliding_window: false,
    vocab_size: 152064,
  },
  'Qwen1.5-MoE-A2.7B': {
    model_type: 'qwen2_moe',
    decoder_sparse_step: 1,
    hidden_size: 2048,
    intermediate_size: 5632,
    moe_intermediate_size: 1408,
    num_attention_heads: 16,
    num_experts: 60,
    num_experts_per_tok: 4,
    num_hidden_layers: 24,
    num_key_value_heads: 16,
    shared_expert_intermediate_size: 5632,
    tie_word_embeddings: false,
    vocab_size: 151936,
  },
  'Qwen3-30B-A3B': {
    model_type: 'qwen3_moe',
    decoder_sparse_step: 1,
    head_dim: 128,
    hidden_size: 2048,
    intermediate_size: 6144,
    mlp_only_layers: [],
    moe_intermediate_size: 768,
    num_attention_heads: 32,
    num_experts: 128,
    num_experts_per_tok: 8,
    num_hidden_layers: 48,
    num_key_value_heads: 4,
    tie_word_embeddings: false,
    vocab_size: 151936,
  },
  'Qwen3.5-35B-A3B': {
    model_type: 'qwen3_5_moe',
    text_config: {
      model_type: 'qwen3_5_moe_text',
      head_dim: 256,
      hidden_size: 2048,
      layer_types: Array.from({ length: 40 }, (_, layer) => (layer % 4 === 3 ? 'full_attention' : 'linear_attention')),
      linear_conv_kernel_dim: 4,
      linear_key_head_dim: 128,
      linear_num_key_heads: 16,
      linear_num_value_heads: 32,
      linear_value_head_dim: 128,
      mlp_only_layers: [],
      moe_intermediate_size: 512,
      mtp_num_hidden_layers: 1,
      num_attention_heads: 16,
      num_experts: 256,
      num_experts_per_tok: 8,
      num_hidden_layers: 40,
      num_key_value_heads: 2,
      shared_expert_intermediate_size: 512,
      vocab_size: 248320,
    },
    tie_word_embeddings: false,
  },
  'DeepSeek-V2-Lite': {
    model_type: 'deepseek_v2',
    first_k_dense_replace: 1,
    hidden_size: 2048,
    intermediate_size: 10944,
    kv_lora_rank: 512,
    moe_intermediate_size: 1408,
    moe_layer_freq: 1,
    n_routed_experts: 64,
    n_shared_experts: 2,
    num_attention_heads: 16,
    num_experts_per_tok: 6,
    num_hidden_layers: 27,
    num_key_value_heads: 16,
    q_lora_rank: null,
    qk_nope_head_dim: 128,
    qk_rope_head_dim: 64,
    tie_word_embeddings: false,
    v_head_dim: 128,
    vocab_size: 102400,
  },
  'DeepSeek-V3': {
    model_type: 'deepseek_v3',
    first_k_dense_replace: 3,
    hidden_size: 7168,
    intermediate_size: 18432,
    kv_lora_rank: 512,
    moe_intermediate_size: 2048,
    moe_layer_freq: 1,
    n_routed_experts: 256,
    n_shared_experts: 1,
    num_attention_heads: 128,
    num_experts_per_tok: 8,
    num_hidden_layers: 61,
    num_key_value_heads: 128,
    num_nextn_predict_layers: 1,
    q_lora_rank: 1536,
    qk_nope_head_dim: 128,
    qk_rope_head_dim: 64,
    tie_word_embeddings: false,
    v_head_dim: 128,
    vocab_size: 129280,
  },
  'Llama-4-Maverick-17B-128E': {
    model_type: 'llama4',
    text_config: {
      model_type: 'llama4_text',
      head_dim: 128,
      hidden_size: 5120,
      interleave_moe_layer_step: 2,
      intermediate_size: 8192,
      intermediate_size_mlp: 16384,
      num_attention_heads: 40,
      num_experts_per_tok: 1,
      num_hidden_layers: 48,
      num_key_value_heads: 8,
      num_local_experts: 128,
      vocab_size: 202048,
    },
    tie_word_embeddings: false,
  },
  gpt2: { model_type: 'gpt2', n_embd: 768, n_head: 12, n_layer: 12, n_positions: 1024, vocab_size: 50257 },
  'gpt-neox-20b': {
    model_type: 'gpt_neox',
    hidden_size: 6144,
    intermediate_size: 24576,
    num_attention_heads: 64,
    num_hidden_layers: 44,
    tie_word_embeddings: false,
    vocab_size: 50432,
  },
  'gpt-oss-20b': {
    model_type: 'gpt_oss',
    attention_bias: true,
    experts_per_token: 4,
    head_dim: 64,
    hidden_size: 2880,
    intermediate_size: 2880,
    layer_types: Array.from({ length: 24 }, (_, layer) => (layer % 2 === 0 ? 'sliding_attention' : 'full_attention')),
    num_attention_heads: 64,
    num_experts_per_tok: 4,
    num_hidden_layers: 24,
    num_key_value_heads: 8,
    num_local_experts: 32,
    sliding_window: 128,
    tie_word_embeddings: false,
    vocab_size: 201088,
  },
  'Minitron-8B-Base': {
    model_type: 'nemotron',
    head_dim: 128,
    hidden_size: 4096,
    intermediate_size: 16384,
    num_attention_heads: 48,
    num_hidden_layers: 32,
    num_key_value_heads: 8,
    tie_word_embeddings: false,
    vocab_size: 256000,
  },
  'NVIDIA-Nemotron-3-Nano-30B-A3B': {
    model_type: 'nemotron_h',
    conv_kernel: 4,
    head_dim: 128,
    hidden_size: 2688,
    hybrid_override_pattern: 'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME',
    intermediate_size: 1856,
    mamba_head_dim: 64,
    mamba_num_heads: 64,
    moe_intermediate_size: 1856,
    moe_shared_expert_intermediate_size: 3712,
    n_groups: 8,
    n_routed_experts: 128,
    n_shared_experts: 1,
    num_attention_heads: 32,
    num_experts_per_tok: 6,
    num_hidden_layers: 52,
    num_key_value_heads: 2,
    ssm_state_size: 128,
    tie_word_embeddings: false,
    vocab_size: 131072,
  },
  'Mamba-Codestral-7B-v0.1': {
    model_type: 'mamba2',
    conv_kernel: 4,
    expand: 2,
    head_dim: 64,
    hidden_size: 4096,
    n_groups: 8,
    num_heads: 128,
    num_hidden_layers: 64,
    state_size: 128,
    tie_word_embeddings: false,
    vocab_size: 32768,
  },
  'bloom-560m': { model_type: 'bloom', hidden_size: 1024, n_head: 16, n_layer: 24, vocab_size: 250880 },
  'falcon-7b': {
    model_type: 'falcon',
    bias: false,
    hidden_size: 4544,
    multi_query: true,
    new_decoder_architecture: false,
    num_attention_heads: 71,
    num_hidden_layers: 32,
    vocab_size: 65024,
  },
  'gemma-7b': {
    model_type: 'gemma',
    head_dim: 256,
    hidden_size: 3072,
    intermediate_size: 24576,
    num_attention_heads: 16,
    num_hidden_layers: 28,
    num_key_value_heads: 16,
    vocab_size: 256000,
  },
  'gemma-2-9b': {
    model_type: 'gemma2',
    head_dim: 256,
    hidden_size: 3584,
    intermediate_size: 14336,
    num_attention_heads: 16,
    num_hidden_layers: 42,
    num_key_value_heads: 8,
    sliding_window: 4096,
    vocab_size: 256000,
  },
  'phi-2': {
    model_type: 'phi',
    hidden_size: 2560,
    intermediate_size: 10240,
    num_attention_heads: 32,
    num_hidden_layers: 32,
    num_key_value_heads: 32,
    tie_word_embeddings: false,
    vocab_size: 51200,
  },
  'Phi-3-mini-4k-instruct': {
    model_type: 'phi3',
    hidden_size: 3072,
    intermediate_size: 8192,
    num_attention_heads: 32,
    num_hidden_layers: 32,
    num_key_value_heads: 32,
    sliding_window: 2047,
    tie_word_embeddings: false,
    vocab_size: 32064,
  },
  'opt-1.3b': {
    model_type: 'opt',
    ffn_dim: 8192,
    hidden_size: 2048,
    max_position_embeddings: 2048,
    num_attention_heads: 32,
    num_hidden_layers: 24,
    vocab_size: 50272,
  },
};

const imported = (name: string): ReturnType<typeof modelFromHuggingFace> => modelFromHuggingFace(PUBLISHED[name]);

describe('a published config.json gives a model with the published number of parameters', () => {
  it.each([
    ['Meta-Llama-3.1-8B', 8.03],
    ['Mistral-7B-v0.1', 7.24],
    ['Mixtral-8x7B-v0.1', 46.7],
    ['Qwen2-7B', 7.62],
    ['Qwen1.5-MoE-A2.7B', 14.3],
    ['Qwen3-30B-A3B', 30.5],
    ['Qwen3.5-35B-A3B', 34.7],
    ['DeepSeek-V2-Lite', 15.7],
    ['DeepSeek-V3', 671],
    ['Llama-4-Maverick-17B-128E', 400],
    ['gpt2', 0.124],
    ['gpt-neox-20b', 20.55],
    ['gpt-oss-20b', 20.9],
    ['Minitron-8B-Base', 8.27],
    ['NVIDIA-Nemotron-3-Nano-30B-A3B', 31.6],
    ['Mamba-Codestral-7B-v0.1', 7.29],
    ['bloom-560m', 0.559],
    ['falcon-7b', 6.92],
    ['gemma-7b', 8.54],
    ['gemma-2-9b', 9.24],
    ['phi-2', 2.78],
    ['Phi-3-mini-4k-instruct', 3.82],
    ['opt-1.3b', 1.316],
  ])('%s has %d billion', (name, published) => {
    const total = parametersOf(imported(name).model).total / 1e9;
    expect(Math.abs(total / published - 1)).toBeLessThan(0.01);
  });
});

describe('import and preset agree', () => {
  it.each([
    ['Meta-Llama-3.1-8B', 'llama-3.1-8b'],
    ['Mixtral-8x7B-v0.1', 'mixtral-8x7b'],
    ['Qwen3-30B-A3B', 'qwen3-30b-a3b'],
    ['DeepSeek-V2-Lite', 'deepseek-v2-lite'],
    ['DeepSeek-V3', 'deepseek-v3'],
    ['gpt-oss-20b', 'gpt-oss-20b'],
    ['gpt-neox-20b', 'gpt-neox-20b'],
    ['NVIDIA-Nemotron-3-Nano-30B-A3B', 'nemotron-3-nano'],
  ])('%s is the preset %s', (published, preset) => {
    const { name: _, ...shape } = imported(published).model;
    const { name: __, ...presetShape } = modelOf(preset).model;
    expect(shape).toEqual(presetShape);
  });
});

describe('what a file leaves open', () => {
  it.each([
    ['Mistral attends to a window in every layer', 'Mistral-7B-v0.1', { attentionWindow: 4096, windowedLayers: 32 }],
    ['Gemma 2 in every second layer', 'gemma-2-9b', { attentionWindow: 4096, windowedLayers: 21 }],
    ['GPT-OSS in the layers it lists', 'gpt-oss-20b', { attentionWindow: 128, windowedLayers: 12 }],
    ['GPT-OSS learns sinks', 'gpt-oss-20b', { attentionSinks: true }],
    ['Gemma 2 has windows and no sinks', 'gemma-2-9b', { attentionSinks: false }],
    ['Qwen2 has its window switched off', 'Qwen2-7B', { attentionWindow: 0, windowedLayers: 0 }],
    ['GPT-2 ties its output and learns positions', 'gpt2', { tiedEmbeddings: true, learnedPositions: 1024 }],
    ['Falcon 7B has one group of keys and values', 'falcon-7b', { keyValueHeads: 1 }],
    ['Llama 4 Maverick has experts in every second layer', 'Llama-4-Maverick-17B-128E', { layers: 96 }],
  ])('%s', (_, name, expected) => {
    expect(imported(name).model).toMatchObject(expected);
  });

  it.each([
    ['an absent size', 'gpt2', 'intermediate_size is absent: 3072'],
    ['the vision tower', 'Qwen3.5-35B-A3B', 'only the language model is planned'],
    ['an unmodelled mixer', 'Qwen3.5-35B-A3B', 'gated delta-rule layers'],
  ])('%s is told', (_, name, note) => {
    expect(imported(name).assumed.join('; ')).toContain(note);
  });

  it('nothing is assumed where the file says everything', () => {
    expect(imported('Meta-Llama-3.1-8B').assumed).toEqual([]);
  });
});

describe('refusals name the key and the rule', () => {
  const llama = PUBLISHED['Meta-Llama-3.1-8B'];
  it.each([
    [
      'an unknown family',
      { ...llama, model_type: 'retnet' },
      '/model_type',
      /"retnet" cannot be imported .*write its shape by hand with layers, hiddenSize/,
    ],
    ['no family', { ...llama, model_type: undefined }, '/model_type', /must name its model_type/],
    ['an absent size', { ...llama, vocab_size: undefined }, '/vocab_size', /vocab_size is needed and absent/],
    [
      'a size that is text',
      { ...llama, hidden_size: '4096' },
      '/hidden_size',
      /hidden_size is "4096", but must be a whole number/,
    ],
    ['a size of zero', { ...llama, num_hidden_layers: 0 }, '/num_hidden_layers', /must be at least 1/],
    [
      'more layers than any model has, before anything is made for each',
      { ...PUBLISHED['Mamba-Codestral-7B-v0.1'], num_hidden_layers: 1_000_000_000 },
      '/num_hidden_layers',
      /num_hidden_layers is 1000000000, but must be at most 1024/,
    ],
    ['a flag that is text', { ...llama, tie_word_embeddings: 'no' }, '/tie_word_embeddings', /must be true or false/],
    ['heads that do not divide', { ...llama, num_attention_heads: 33 }, '', /"llama": headDim is 124\.12\d+; /],
    ['no key-value heads', { ...llama, num_key_value_heads: 0 }, '', /keyValueHeads is 0; it must be at least 1\.$/],
    ['a list', [llama], '', /must hold one JSON object/],
    [
      'a pattern of unknown letters',
      { ...PUBLISHED['NVIDIA-Nemotron-3-Nano-30B-A3B'], hybrid_override_pattern: 'MXM' },
      '',
      /must hold only/,
    ],
  ])('%s', (_, config, pointer, message) => {
    let thrown: unknown;
    try {
      modelFromHuggingFace(config);
    } catch (error) {
      thrown = error;
    }
    expect(isDomainError(thrown, 'INVALID_REQUEST')).toBe(true);
    expect(thrown).toMatchObject({ message: expect.stringMatching(message) as string, violations: [{ pointer }] });
  });
});
