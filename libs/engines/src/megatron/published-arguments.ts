/** Renders for Megatron-LM what a published model has beyond its sizes. */
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
import { type MegatronJob, byDefault, flag, note, type RenderedField } from './rendered-field.ts';

/**
 * Sizes alone describe another model: with another rotary base its positions differ, and trained weights are worth nothing.
 * So config.json is part of the job, and the published arguments of a preset are rendered. engine.args can override them.
 */
export function publishedArguments(job: MegatronJob, shape: ModelShape): readonly RenderedField[] {
  const words = job.spec.model;
  if (words === undefined) return [];
  const epsilon = words.huggingFace?.['rms_norm_eps'];
  return [
    ...(shape.learnedPositions === 0 && shape.layerPattern === undefined
      ? [...positions(words), ...scaling(job, words)]
      : []),
    ...(typeof epsilon === 'number' ? flag('model.huggingFace', '--norm-epsilon', epsilon) : []),
    ...(hasHeadNorms(words) ? byDefault('--qk-layernorm') : []),
    ...(hasQueryBiases(words) ? byDefault('--add-qkv-bias') : []),
    ...(words.huggingFace?.['attention_bias'] === true && !shape.linearBias
      ? note(
          'model',
          'attention_bias of model.huggingFace is not rendered: give --add-qkv-bias in engine.args if it fits',
        )
      : []),
  ];
}

function positions(words: ModelSpec): readonly RenderedField[] {
  const base = rotaryBaseOf(words);
  if (base === undefined)
    return note('model', 'rotary positions have the base 10000 unless engine.args give --rotary-base');
  const rounded = Math.round(base);
  return words.huggingFace === undefined
    ? byDefault('--rotary-base', rounded)
    : flag('model.huggingFace', '--rotary-base', rounded);
}

function scaling(job: MegatronJob, words: ModelSpec): readonly RenderedField[] {
  const yarn = yarnOf(words);
  if (yarn !== undefined && job.shape?.latentAttention !== undefined) return latentYarn(yarn);
  const kind = ropeKindOf(words);
  if (kind === undefined) return [];
  return kind === 'llama3' ? llamaScaling(job, ropeScalingOf(words) ?? {}) : unrenderedScaling(kind);
}

/** What latent attention has of YaRN and no option changes (megatron/core/transformer/transformer_config.py, MLATransformerConfig). */
const YARN = { beta_fast: 32, beta_slow: 1, original_max_position_embeddings: 4096 } as const;

/** Latent attention has these options in every release; a model that does not name the last two has what the parser has, 1 and 0. */
function latentYarn(scaling: YarnScaling): readonly RenderedField[] {
  const { factor, mscale = 1, mscale_all_dim: ofAll = 0 } = scaling;
  if (typeof factor !== 'number' || typeof mscale !== 'number' || typeof ofAll !== 'number' || !agrees(scaling, YARN))
    return unrenderedScaling('yarn');
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

function llamaScaling(job: MegatronJob, scaling: Readonly<Record<string, unknown>>): readonly RenderedField[] {
  if (!agrees(scaling, LLAMA)) return unrenderedScaling('llama3');
  const factor = typeof scaling['factor'] === 'number' ? scaling['factor'] : FACTOR_OF_LLAMA_3_1;
  // Megatron-LM defaults to 8; Megatron-Bridge to 1, which scales nothing.
  return [
    ...byDefault('--use-rope-scaling'),
    ...byDefault('--rope-scaling-factor', factor),
    ...(factor !== FACTOR_OF_LLAMA_3_1 && ignoresFactor(job)
      ? note(
          'model',
          `pretrain_gpt.py of ${job.release.tag} ignores --rope-scaling-factor and scales rotary positions by ${FACTOR_OF_LLAMA_3_1}, not by ${factor}: core_v0.19 applies the factor`,
        )
      : []),
  ];
}

/** gpt_builders.py makes the model without the factor; from core_v0.19 on it is in the configuration (argument_utils.py, gpt_config_from_args). */
function ignoresFactor({ engine, program, release }: MegatronJob): boolean {
  return engine === 'megatron-lm' && program === 'gpt' && release.minor < 19;
}

/** Whether no value differs. */
function agrees(scaling: Readonly<Record<string, unknown>>, fixed: Readonly<Record<string, number>>): boolean {
  return Object.entries(fixed).every(([key, value]) => (scaling[key] ?? value) === value);
}

function unrenderedScaling(kind: string): readonly RenderedField[] {
  return note(
    'model',
    `the scaling of rotary positions in model.huggingFace (${kind.slice(0, 32)}) is not rendered: give its options in engine.args`,
  );
}
