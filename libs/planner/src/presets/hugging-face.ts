/**
 * Reads the sizes of a model from the `config.json` of its published weights.
 *
 * The keys are those of Hugging Face transformers' configuration classes; where a key is absent, the class's own default holds, and the
 * caller gets a note. Ignored because no plan depends on it: rotary settings, norms of queries and keys, biases of queries alone, soft caps.
 */
import { DomainError } from '@coxswain/domain-error';
import { brokenSchemaRule, ModelShape } from '@coxswain/layout';
import { z } from 'zod';
import { configKeys, type ConfigKeys } from './config-keys.ts';

/** A model read from `config.json`. */
export interface ImportedModel {
  readonly model: ModelShape;
  /** Notes on values that were filled in, and on options that are not modelled. */
  readonly assumed: readonly string[];
}

type Sizes = z.input<typeof ModelShape>;

/** How a family differs from Llama's block: SwiGLU, RMSNorm, no biases, no learned positions, an output of its own. */
interface Traits {
  readonly gatedMlp?: boolean;
  readonly rmsNorm?: boolean;
  readonly linearBias?: boolean;
  readonly attentionSinks?: boolean;
  /** Default of `tie_word_embeddings` in the configuration class. */
  readonly tiedEmbeddings?: boolean;
  readonly learnedPositions?: boolean;
  /** Default of `head_dim` where it is not hidden size over heads. */
  readonly headDim?: number;
  /** One in so many layers attends to everything, the others to the window; absent: as `layer_types` says, else all use it. */
  readonly fullAttentionEvery?: number;
}

type Family = (keys: ConfigKeys) => Sizes;

const LLAMA_LIKE = decoder({});
const PLAIN_MLP = { gatedMlp: false, rmsNorm: false, linearBias: true } as const;

/** Readers by `model_type`. */
const FAMILIES: ReadonlyMap<string, Family> = new Map<string, Family>([
  ...[
    'llama',
    'mistral',
    'ministral',
    'mixtral',
    'qwen2',
    'qwen3',
    'qwen2_moe',
    'qwen3_moe',
    'qwen3_vl_text',
    'qwen3_vl_moe_text',
    'phi3',
    'granite',
    'granitemoe',
    'olmo2',
    'olmo3',
    'olmoe',
    'seed_oss',
    'smollm3',
    'internlm2',
    'glm4',
    'glm4_moe',
    'minimax_m2',
    'deepseek_v2',
    'deepseek_v3',
    'kimi_k2',
  ].map((type): [string, Family] => [type, LLAMA_LIKE]),
  ['deepseek_v32', noting('sparse attention is planned as full attention', LLAMA_LIKE)],
  ['glm_moe_dsa', noting('sparse attention is planned as full attention', LLAMA_LIKE)],
  ['gpt_oss', decoder({ linearBias: true, attentionSinks: true })],
  ['gemma', decoder({ tiedEmbeddings: true, headDim: 256 })],
  ['gemma2', decoder({ tiedEmbeddings: true, headDim: 256, fullAttentionEvery: 2 })],
  ['gemma3_text', decoder({ tiedEmbeddings: true, headDim: 256, fullAttentionEvery: 6 })],
  ['nemotron', decoder({ gatedMlp: false, rmsNorm: false })],
  ['phi', decoder(PLAIN_MLP)],
  ['starcoder2', decoder({ ...PLAIN_MLP, tiedEmbeddings: true })],
  ['gpt_neox', decoder(PLAIN_MLP)],
  ['opt', decoder({ ...PLAIN_MLP, tiedEmbeddings: true, learnedPositions: true })],
  ['gpt2', decoder({ ...PLAIN_MLP, tiedEmbeddings: true, learnedPositions: true })],
  ['bloom', decoder({ ...PLAIN_MLP, tiedEmbeddings: true })],
  ['falcon', falcon],
  ['llama4_text', llama4],
  ['qwen3_next', gatedDelta],
  ['qwen3_5_text', gatedDelta],
  ['qwen3_5_moe_text', gatedDelta],
  ['nemotron_h', nemotronHybrid],
  ['mamba2', mamba],
]);

/** The `model_type`s that {@link modelFromHuggingFace} reads. */
export const HUGGING_FACE_MODEL_TYPES: readonly string[] = [...FAMILIES.keys()].sort();

const NEEDED_BY_HAND =
  'layers, hiddenSize, ffnHiddenSize, attentionHeads, keyValueHeads, headDim, vocabularySize and gatedMlp';

/**
 * The model that a parsed `config.json` describes. A configuration of several modalities is read for its language model alone.
 *
 * Throws INVALID_REQUEST with key and rule for an unknown `model_type`, a size that is absent or not a whole number, and sizes that contradict each other.
 */
export function modelFromHuggingFace(config: unknown): ImportedModel {
  const parsed = z.record(z.string(), z.unknown()).safeParse(config);
  if (!parsed.success) throw refusal('', 'config.json must hold one JSON object');
  const { text_config: textConfig, ...outer } = parsed.data;
  const assumed: string[] = [];
  if (typeof textConfig === 'object' && textConfig !== null) {
    assumed.push('only the language model is planned; encoders of other modalities are left out');
    return read({ ...outer, ...textConfig }, assumed);
  }
  return read(parsed.data, assumed);
}

function read(config: Readonly<Record<string, unknown>>, assumed: string[]): ImportedModel {
  const type = config['model_type'];
  if (typeof type !== 'string') throw refusal('/model_type', 'config.json must name its model_type');
  const family = FAMILIES.get(type);
  if (family === undefined)
    throw refusal(
      '/model_type',
      `model_type "${type}" cannot be imported (known: ${HUGGING_FACE_MODEL_TYPES.join(', ')}); ` +
        `write its shape by hand with ${NEEDED_BY_HAND}`,
    );
  const keys = configKeys(config, type, assumed);
  const name = keys.text('_name_or_path');
  const shape = ModelShape.safeParse({ name: name === '' ? type : name, ...family(keys) }, { reportInput: true });
  if (!shape.success) throw refusal('', `config.json of model_type "${type}": ${wrongSizes(shape.error)}`);
  return { model: shape.data, assumed };
}

/** Sizes that follow from a config and cannot be, as the keys of a shape: more than one key of the config may stand behind them. */
function wrongSizes({ issues }: z.ZodError): string {
  return issues.map((issue) => `${issue.path.join('.')} ${brokenSchemaRule(issue)}`).join('; ');
}

function refusal(pointer: string, detail: string): DomainError {
  return new DomainError('INVALID_REQUEST', `${detail}.`, [{ pointer, detail }]);
}

/** A family whose every layer is attention followed by an MLP or experts. */
function decoder(traits: Traits): Family {
  return (keys) => {
    const layers = keys.layers('num_hidden_layers', 'n_layer', 'num_layers');
    const hiddenSize = keys.count('hidden_size', 'n_embd', 'd_model');
    const heads = keys.count('num_attention_heads', 'n_head');
    const experts = expertsOf(keys, layers);
    const everyLayerHasExperts = experts !== undefined && experts.denseLayers === 0 && sparseStepOf(keys) === 1;
    return {
      layers,
      hiddenSize,
      ffnHiddenSize: everyLayerHasExperts ? 0 : mlpWidthOf(keys, 4 * hiddenSize),
      attentionHeads: heads,
      keyValueHeads: keys.countOr(heads, 'num_key_value_heads'),
      headDim: headDimOf(keys, traits.headDim ?? hiddenSize / heads),
      vocabularySize: keys.count('vocab_size'),
      gatedMlp: traits.gatedMlp ?? true,
      rmsNorm: traits.rmsNorm ?? true,
      linearBias: traits.linearBias ?? false,
      tiedEmbeddings: keys.flag(traits.tiedEmbeddings ?? false, 'tie_word_embeddings'),
      learnedPositions: traits.learnedPositions === true ? keys.count('n_positions', 'max_position_embeddings') : 0,
      mtpLayers: keys.optional('num_nextn_predict_layers', 'mtp_num_hidden_layers') ?? 0,
      ...windowOf(keys, layers, traits.fullAttentionEvery),
      attentionSinks: traits.attentionSinks ?? false,
      ...latentAttentionOf(keys),
      ...(experts === undefined ? {} : { experts }),
      ...(experts === undefined || sparseStepOf(keys) === 1 ? {} : blocksOf(keys, { layers, experts })),
    };
  };
}

function mlpWidthOf(keys: ConfigKeys, fallback: number): number {
  // Llama 4 keeps `intermediate_size` for its experts.
  const besideExperts = keys.optional('intermediate_size_mlp');
  return besideExperts ?? keys.countOr(fallback, 'intermediate_size', 'n_inner', 'ffn_dim', 'ffn_hidden_size');
}

/** Experts in every n-th layer only. */
function sparseStepOf(keys: ConfigKeys): number {
  return keys.optional('decoder_sparse_step', 'moe_layer_freq', 'interleave_moe_layer_step') ?? 1;
}

function noting(note: string, family: Family): Family {
  return (keys) => {
    keys.note(note);
    return family(keys);
  };
}

/** `head_dim`, which Nemotron-H calls `attention_head_dim`; latent attention says the width of its values; else hidden size over heads. */
function headDimOf(keys: ConfigKeys, fallback: number): number {
  return keys.optional('v_head_dim', 'head_dim', 'attention_head_dim') ?? fallback;
}

function expertsOf(keys: ConfigKeys, layers: number): Sizes['experts'] {
  const count = keys.optional('num_local_experts', 'num_experts', 'n_routed_experts') ?? 0;
  if (count === 0) return undefined;
  const ffnHiddenSize = keys.count('moe_intermediate_size', 'intermediate_size');
  const shared = keys.optional('shared_expert_intermediate_size', 'moe_shared_expert_intermediate_size');
  return {
    count,
    topK: keys.count('num_experts_per_tok', 'experts_per_token', 'num_experts_per_token'),
    ffnHiddenSize,
    sharedFfnHiddenSize: shared ?? (keys.optional('n_shared_experts') ?? 0) * ffnHiddenSize,
    denseLayers: Math.min(layers, keys.optional('first_k_dense_replace') ?? leadingDenseLayers(keys)),
    latentSize: keys.optional('moe_latent_size') ?? 0,
  };
}

/** Qwen lists the layers that stay dense; where they lead, they are the model's dense layers. */
function leadingDenseLayers(keys: ConfigKeys): number {
  const dense = new Set(keys.list('mlp_only_layers'));
  let leading = 0;
  while (dense.has(leading)) leading++;
  return leading;
}

function latentAttentionOf(keys: ConfigKeys): Pick<Sizes, 'latentAttention'> {
  if (keys.optional('kv_lora_rank') === undefined) return {};
  return {
    latentAttention: {
      queryRank: keys.optional('q_lora_rank') ?? 0,
      keyValueRank: keys.count('kv_lora_rank'),
      nopeHeadDim: keys.count('qk_nope_head_dim'),
      ropeHeadDim: keys.count('qk_rope_head_dim'),
      valueHeadDim: keys.count('v_head_dim'),
    },
  };
}

function windowOf(
  keys: ConfigKeys,
  layers: number,
  fullAttentionEvery: number | undefined,
): Pick<Sizes, 'attentionWindow' | 'windowedLayers'> {
  const attentionWindow = keys.optional('sliding_window') ?? 0;
  if (attentionWindow === 0 || !keys.flag(true, 'use_sliding_window')) return {};
  const types = keys.list('layer_types');
  if (types.length > 0)
    return { attentionWindow, windowedLayers: types.filter((type) => type === 'sliding_attention').length };
  const every = keys.optional('sliding_window_pattern') ?? fullAttentionEvery;
  return { attentionWindow, windowedLayers: every === undefined ? layers : layers - Math.floor(layers / every) };
}

/** Models whose layers differ from each other get one letter per block, two blocks to a layer. */
function blocksOf(
  keys: ConfigKeys,
  { layers, experts }: Pick<Sizes, 'layers' | 'experts'>,
): Pick<Sizes, 'layers' | 'layerPattern'> {
  keys.note('each layer counts as two blocks (attention, then MLP or experts) when the pipeline is cut');
  const types = keys.list('layer_types');
  const step = sparseStepOf(keys);
  const dense = experts?.denseLayers ?? 0;
  const letters = Array.from({ length: layers }, (_, layer) => {
    const mixer = types[layer] === 'linear_attention' ? 'M' : '*';
    const sparse = experts !== undefined && layer >= dense && (layer + 1) % step === 0;
    return `${mixer}${sparse ? 'E' : '-'}`;
  });
  return { layers: 2 * layers, layerPattern: letters.join('') };
}

/**
 * Qwen3-Next and Qwen3.5: most layers mix tokens by the gated delta rule. Its projections and convolution are as wide as those of a
 * Mamba-2 mixer with the value heads as heads and the key heads as groups.
 */
function gatedDelta(keys: ConfigKeys): Sizes {
  keys.note('gated delta-rule layers are planned as Mamba-2 mixers of the same widths');
  const sizes = decoder({})(keys);
  return {
    ...sizes,
    ...blocksOf(keys, sizes),
    stateSpace: {
      stateSize: keys.count('linear_key_head_dim'),
      heads: keys.count('linear_num_value_heads'),
      headDim: keys.count('linear_value_head_dim'),
      groups: keys.count('linear_num_key_heads'),
      convKernel: keys.countOr(4, 'linear_conv_kernel_dim'),
    },
  };
}

/** Llama 4 has one shared expert beside the routed ones, each as wide as `intermediate_size`. */
function llama4(keys: ConfigKeys): Sizes {
  keys.note('chunked local attention is planned as full attention');
  const sizes = decoder({})(keys);
  if (sizes.experts === undefined) return sizes;
  return { ...sizes, experts: { ...sizes.experts, sharedFfnHiddenSize: keys.count('intermediate_size') } };
}

/** Falcon says by two flags how many groups of keys and values it has. */
function falcon(keys: ConfigKeys): Sizes {
  const heads = keys.count('num_attention_heads', 'n_head');
  const grouped = keys.flag(false, 'new_decoder_architecture');
  const multiQuery = keys.flag(true, 'multi_query');
  return {
    ...decoder({ gatedMlp: false, rmsNorm: false, tiedEmbeddings: true })(keys),
    keyValueHeads: grouped ? keys.countOr(heads, 'num_kv_heads', 'n_head_kv') : multiQuery ? 1 : heads,
    linearBias: keys.flag(false, 'bias'),
  };
}

const LETTER_OF_BLOCK: ReadonlyMap<unknown, string> = new Map([
  ['mamba', 'M'],
  ['attention', '*'],
  ['mlp', '-'],
  ['moe', 'E'],
]);

/** Nemotron-H and Nemotron 3: one block per layer, squared ReLU without a gate. */
function nemotronHybrid(keys: ConfigKeys): Sizes {
  const blocks = keys.list('layers_block_type').map((block) => LETTER_OF_BLOCK.get(block) ?? '?');
  const layerPattern = blocks.length > 0 ? blocks.join('') : keys.text('hybrid_override_pattern');
  if (layerPattern === '') throw keys.absent('hybrid_override_pattern', 'layers_block_type');
  const hiddenSize = keys.count('hidden_size');
  const heads = keys.count('num_attention_heads');
  const experts = layerPattern.includes('E') ? expertsOf(keys, layerPattern.length) : undefined;
  return {
    layers: layerPattern.length,
    hiddenSize,
    ffnHiddenSize: layerPattern.includes('-') ? keys.count('intermediate_size') : 0,
    attentionHeads: heads,
    keyValueHeads: keys.countOr(heads, 'num_key_value_heads'),
    headDim: headDimOf(keys, hiddenSize / heads),
    vocabularySize: keys.count('vocab_size'),
    gatedMlp: false,
    tiedEmbeddings: keys.flag(false, 'tie_word_embeddings'),
    mtpLayers: keys.optional('num_nextn_predict_layers') ?? 0,
    layerPattern,
    stateSpace: {
      stateSize: keys.count('ssm_state_size'),
      heads: keys.count('mamba_num_heads'),
      headDim: keys.count('mamba_head_dim'),
      groups: keys.count('n_groups'),
      convKernel: keys.countOr(4, 'conv_kernel'),
    },
    ...(experts === undefined ? {} : { experts }),
  };
}

/** A stack of Mamba-2 mixers alone. Attention sizes are not used; they repeat the mixer's. */
function mamba(keys: ConfigKeys): Sizes {
  const layers = keys.layers('num_hidden_layers', 'n_layer');
  const heads = keys.count('num_heads');
  const headDim = keys.count('head_dim');
  return {
    layers,
    hiddenSize: keys.count('hidden_size', 'd_model'),
    ffnHiddenSize: 0,
    attentionHeads: heads,
    keyValueHeads: heads,
    headDim,
    vocabularySize: keys.count('vocab_size'),
    gatedMlp: false,
    tiedEmbeddings: keys.flag(false, 'tie_word_embeddings'),
    layerPattern: 'M'.repeat(layers),
    stateSpace: {
      stateSize: keys.count('state_size'),
      heads,
      headDim,
      groups: keys.count('n_groups'),
      convKernel: keys.countOr(4, 'conv_kernel'),
    },
  };
}
