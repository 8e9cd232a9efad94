/** How is Megatron-LM told what a published model is beyond its sizes? */
import type { ModelSpec } from '@coxswain/api-types';
import type { ModelShape } from '@coxswain/layout';
import {
  hasHeadNorms,
  hasQueryBiases,
  ropeKindOf,
  ropeScalingOf,
  rotaryBaseOf,
  type YarnScaling,
  yarnOf,
} from '../published-model.ts';
import { type Asked, byDefault, flag, note, type Told } from './rendered-field.ts';

/**
 * Sizes alone give another model: with another base its positions are others, and weights that were trained otherwise are worth nothing. What a config.json says is
 * the job's; what is known of a preset is told as well, and engine.args may say otherwise.
 */
export function publishedWords(asked: Asked, shape: ModelShape): readonly Told[] {
  const words = asked.spec.model;
  if (words === undefined) return [];
  const epsilon = words.huggingFace?.['rms_norm_eps'];
  return [
    ...(shape.learnedPositions === 0 && shape.layerPattern === undefined
      ? [...positions(words), ...scaling(asked, words)]
      : []),
    ...(typeof epsilon === 'number' ? flag('model.huggingFace', '--norm-epsilon', epsilon) : []),
    ...(hasHeadNorms(words) ? byDefault('--qk-layernorm') : []),
    ...(hasQueryBiases(words) ? byDefault('--add-qkv-bias') : []),
    ...(words.huggingFace?.['attention_bias'] === true && !shape.linearBias
      ? note(
          'model',
          'attention_bias of model.huggingFace is not told: give --add-qkv-bias in engine.args where it fits',
        )
      : []),
  ];
}

function positions(words: ModelSpec): readonly Told[] {
  const base = rotaryBaseOf(words);
  if (base === undefined)
    return note('model', 'rotary positions have the base 10000 unless engine.args give --rotary-base');
  const told = Math.round(base);
  return words.huggingFace === undefined
    ? byDefault('--rotary-base', told)
    : flag('model.huggingFace', '--rotary-base', told);
}

function scaling(asked: Asked, words: ModelSpec): readonly Told[] {
  const yarn = yarnOf(words);
  if (yarn !== undefined && asked.shape?.latentAttention !== undefined) return latentYarn(yarn);
  const kind = ropeKindOf(words);
  if (kind === undefined) return [];
  return kind === 'llama3' ? llamaScaling(asked, ropeScalingOf(words) ?? {}) : notTold(kind);
}

/** What latent attention has of YaRN and no option changes (megatron/core/transformer/transformer_config.py, MLATransformerConfig). */
const YARN = { beta_fast: 32, beta_slow: 1, original_max_position_embeddings: 4096 } as const;

/** Latent attention has these options in every release; a model that does not name the last two has what the parser has, 1 and 0. */
function latentYarn(said: YarnScaling): readonly Told[] {
  const { factor, mscale = 1, mscale_all_dim: ofAll = 0 } = said;
  if (typeof factor !== 'number' || typeof mscale !== 'number' || typeof ofAll !== 'number' || !agrees(said, YARN))
    return notTold('yarn');
  return [
    ...byDefault('--rope-type', 'yarn'),
    ...byDefault('--rotary-scaling-factor', factor),
    ...byDefault('--mscale', mscale),
    ...byDefault('--mscale-all-dim', ofAll),
  ];
}

/** What its own scaling does besides the factor (megatron/core/models/common/embeddings/rotary_pos_embedding.py, _apply_scaling). */
const LLAMA = { low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 } as const;

const FACTOR_OF_LLAMA_3_1 = 8;

function llamaScaling(asked: Asked, said: Readonly<Record<string, unknown>>): readonly Told[] {
  if (!agrees(said, LLAMA)) return notTold('llama3');
  const factor = typeof said['factor'] === 'number' ? said['factor'] : FACTOR_OF_LLAMA_3_1;
  // Megatron-LM has 8 where nothing is told, Megatron-Bridge 1, which scales nothing.
  return [
    ...byDefault('--use-rope-scaling'),
    ...byDefault('--rope-scaling-factor', factor),
    ...(factor !== FACTOR_OF_LLAMA_3_1 && ignoresFactor(asked)
      ? note(
          'model',
          `pretrain_gpt.py of ${asked.release.tag} scales rotary positions by ${FACTOR_OF_LLAMA_3_1} whatever --rope-scaling-factor says, not by ${factor}: core_v0.19 does as told`,
        )
      : []),
  ];
}

/** gpt_builders.py makes the model without the factor; from core_v0.19 on it is in the configuration (argument_utils.py, gpt_config_from_args). */
function ignoresFactor({ engine, program, release }: Asked): boolean {
  return engine === 'megatron-lm' && program === 'gpt' && release.minor < 19;
}

/** True where nothing is said that is otherwise. */
function agrees(said: Readonly<Record<string, unknown>>, fixed: Readonly<Record<string, number>>): boolean {
  return Object.entries(fixed).every(([key, value]) => (said[key] ?? value) === value);
}

function notTold(kind: string): readonly Told[] {
  return note(
    'model',
    `the scaling of rotary positions in model.huggingFace (${kind.slice(0, 32)}) is not told: give its options in engine.args`,
  );
}
