/** Reads what `config.json` of Hugging Face says about a model, as far as the layout of its weights depends on it. */
import { z } from 'zod';
import { parseJson } from '../read/parse-json.ts';
import { UnreadableSave } from '../read/unreadable-save.ts';
import { UnplannableSave } from '../reshard/plan-reshard.ts';

/** Models whose weights can be spelled in another way, by `model_type` of config.json. */
export const MODEL_FAMILIES = ['llama', 'mistral', 'qwen2', 'qwen3', 'mixtral', 'qwen3_moe'] as const;
export type ModelFamily = (typeof MODEL_FAMILIES)[number];

/** Sizes of a model. */
export interface ModelConfig {
  readonly family: ModelFamily;
  readonly layers: number;
  readonly hiddenSize: number;
  readonly heads: number;
  /** Heads of keys and values: the query groups. */
  readonly keyValueHeads: number;
  readonly headSize: number;
  /** Rows of the embedding without padding. */
  readonly words: number;
  /** Width of the feed-forward network; of one expert, if there are experts. */
  readonly feedForwardSize: number;
  /** 0: none. */
  readonly experts: number;
  /** The embedding is the output layer as well. */
  readonly isTied: boolean;
}

/** Beyond those of any model: what is planned for each is in memory. */
const MAX_ROWS = 2 ** 20;
const MAX_EXPERTS_OF_LAYERS = 1_000_000;
const count = z
  .int()
  .min(1)
  .max(2 ** 31);
const Config = z.looseObject({
  model_type: z.string(),
  num_hidden_layers: count,
  hidden_size: count,
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  vocab_size: count,
  intermediate_size: count.nullish(),
  moe_intermediate_size: count.nullish(),
  num_local_experts: count.nullish(),
  num_experts: count.nullish(),
  tie_word_embeddings: z.boolean().nullish(),
});

/**
 * The JSON of `config.json`.
 * @throws UnplannableSave
 */
export function parseConfig(json: Uint8Array): unknown {
  try {
    return parseJson(json);
  } catch (error) {
    if (!(error instanceof UnreadableSave)) throw error;
    throw new UnplannableSave([
      'The config.json of the model is no JSON object. Name the config.json of the model with --model-config.',
    ]);
  }
}

/**
 * The sizes of the model that `config.json` describes.
 * @throws UnplannableSave if it describes no model whose weights are known here.
 */
export function readModelConfig(json: Uint8Array): ModelConfig {
  const parsed = Config.safeParse(parseConfig(json));
  if (!parsed.success) {
    const fields = [...new Set(parsed.error.issues.map(({ path }) => path.join('.')))];
    throw new UnplannableSave([
      `config.json has no usable value for ${fields.join(', ')}. Name the config.json of the model with --model-config.`,
    ]);
  }
  const config = parsed.data;
  const family = MODEL_FAMILIES.find((name) => name === config.model_type);
  if (family === undefined)
    throw new UnplannableSave([
      `Models of type ${config.model_type} are not spelled in another way here, only ${MODEL_FAMILIES.join(', ')}. Use --names keep to keep the names and layouts of its tensors.`,
    ]);
  // Releases of Transformers name it differently.
  const experts = config.num_local_experts ?? config.num_experts;
  const isSparse = family === 'mixtral' || family === 'qwen3_moe';
  const keyValueHeads = config.num_key_value_heads ?? config.num_attention_heads;
  const width = family === 'qwen3_moe' ? config.moe_intermediate_size : config.intermediate_size;
  const problems = [
    ...(isSparse && (experts ?? 0) === 0 ? [`config.json of a ${family} model says no number of experts.`] : []),
    ...(width === undefined || width === null ? [`config.json says no width of the feed-forward network.`] : []),
    ...(config.num_attention_heads % keyValueHeads === 0
      ? []
      : [
          `config.json has ${String(config.num_attention_heads)} attention heads, which ${String(keyValueHeads)} heads of keys and values do not divide.`,
        ]),
  ];
  if (problems.length > 0) throw new UnplannableSave(problems);
  return bounded({
    family,
    layers: config.num_hidden_layers,
    hiddenSize: config.hidden_size,
    heads: config.num_attention_heads,
    keyValueHeads,
    headSize: config.head_dim ?? Math.floor(config.hidden_size / config.num_attention_heads),
    words: config.vocab_size,
    feedForwardSize: width ?? 0,
    experts: isSparse ? (experts ?? 0) : 0,
    isTied: config.tie_word_embeddings ?? false,
  });
}

/** Refuses what no model has: rotary positions pair the rows of a head, and a file can say anything. */
function bounded(model: ModelConfig): ModelConfig {
  const { heads, headSize, layers, experts } = model;
  if (headSize % 2 === 1)
    throw new UnplannableSave([`config.json gives heads of attention the odd size ${String(headSize)}.`]);
  if (headSize === 0 || heads * headSize > MAX_ROWS || layers * Math.max(1, experts) > MAX_EXPERTS_OF_LAYERS)
    throw new UnplannableSave([
      `config.json describes a model of ${String(layers)} layers, ${String(experts)} experts and ${String(heads)} heads of ${String(headSize)} rows, which is no model that is planned here.`,
    ]);
  return model;
}
