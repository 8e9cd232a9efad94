/** How is Megatron-LM told what a published model is beyond its sizes? */
import type { ModelSpec } from '@coxswain/api-types';
import type { ModelShape } from '@coxswain/layout';
import { hasHeadNorms, hasQueryBiases, ropeKindOf, ropeScalingOf, rotaryBaseOf } from '../published-model.ts';
import { byDefault, flag, note, type Told } from './told.ts';

/**
 * Sizes alone give another model: with another base its positions are others, and weights that were trained otherwise are worth nothing. What a config.json says is
 * the job's; what is known of a preset is told as well, and engine.args may say otherwise.
 */
export function publishedWords(shape: ModelShape, words: ModelSpec | undefined): readonly Told[] {
  if (words === undefined) return [];
  const epsilon = words.huggingFace?.['rms_norm_eps'];
  return [
    ...(shape.learnedPositions === 0 && shape.layerPattern === undefined ? positions(words) : []),
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
  const isSaid = words.huggingFace !== undefined;
  if (base === undefined)
    return [
      ...note('model', 'rotary positions have the base 10000 unless engine.args give --rotary-base'),
      ...scaling(words),
    ];
  const told = Math.round(base);
  return [
    ...(isSaid ? flag('model.huggingFace', '--rotary-base', told) : byDefault('--rotary-base', told)),
    ...scaling(words),
  ];
}

/** What its own scaling does besides the factor (megatron/core/models/common/embeddings/rotary_pos_embedding.py, _apply_scaling). */
const LLAMA = { low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 } as const;

const FACTOR_OF_LLAMA_3_1 = 8;

function scaling(words: ModelSpec): readonly Told[] {
  const kind = ropeKindOf(words);
  if (kind === undefined) return [];
  const said = ropeScalingOf(words) ?? {};
  const isLlama = Object.entries(LLAMA).every(([key, value]) => (said[key] ?? value) === value);
  if (kind !== 'llama3' || !isLlama)
    return note(
      'model',
      `the scaling of rotary positions in model.huggingFace (${kind.slice(0, 32)}) is not told: give its options in engine.args`,
    );
  const factor = said['factor'];
  // Megatron-LM has 8 where nothing is told, Megatron-Bridge 1, which scales nothing.
  return [
    ...byDefault('--use-rope-scaling'),
    ...byDefault('--rope-scaling-factor', typeof factor === 'number' ? factor : FACTOR_OF_LLAMA_3_1),
  ];
}
