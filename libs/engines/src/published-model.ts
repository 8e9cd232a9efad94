/** What published models have beyond sizes: rotary positions, norms of queries and keys, biases. */
import type { ModelSpec } from '@coxswain/api-types';
import { modelOf } from '@coxswain/planner/presets';
import { modelOfJob } from './model-of-job.ts';

/** The planner's name for the preset, however the job spells it; undefined if the job names no known preset. */
export function presetOf(model: ModelSpec): string | undefined {
  if (model.preset === undefined || modelOfJob(model) === undefined) return undefined;
  return modelOf(model.preset).name;
}

/** Rotary bases, by prefix of the preset’s name. */
const BASE_OF_PRESET: readonly (readonly [RegExp, number])[] = [
  [/^llama-3/, 500_000],
  [/^(llama-2|deepseek)/, 10_000],
  [/^(mixtral|qwen3)/, 1_000_000],
];

/**
 * The base of rotary positions; undefined if neither config.json nor preset gives one. transformers then uses 10,000, as Llama
 * did.
 */
export function rotaryBaseOf(model: ModelSpec): number | undefined {
  const { huggingFace } = model;
  const given = ropeScalingOf(model)?.['rope_theta'] ?? huggingFace?.['rope_theta'];
  if (huggingFace !== undefined) return typeof given === 'number' ? given : undefined;
  const preset = presetOf(model) ?? '';
  return BASE_OF_PRESET.find(([beginning]) => beginning.test(preset))?.[1];
}

/** The scaling of rotary positions in config.json: `rope_scaling`, or `rope_parameters` from transformers 5 on. */
export function ropeScalingOf({ huggingFace }: ModelSpec): Readonly<Record<string, unknown>> | undefined {
  const given = huggingFace?.['rope_parameters'] ?? huggingFace?.['rope_scaling'];
  return typeof given === 'object' && given !== null ? (given as Readonly<Record<string, unknown>>) : undefined;
}

/** The kind of scaling, such as `llama3` or `yarn`; undefined if positions are not scaled. */
export function ropeKindOf(model: ModelSpec): string | undefined {
  if (/^llama-3\.1/.test(presetOf(model) ?? '')) return 'llama3';
  const scaling = ropeScalingOf(model);
  const kind = scaling?.['rope_type'] ?? scaling?.['type'];
  return kind === undefined || kind === 'default' ? undefined : String(kind);
}

/** Whether queries and keys are normalised: Qwen 3 does, Mixtral does not. A model given by sizes alone does not. */
export function hasHeadNorms(model: ModelSpec): boolean {
  return /^qwen3-/.test(presetOf(model) ?? '') || String(model.huggingFace?.['model_type']).startsWith('qwen3');
}

/** Whether only the projections of queries, keys and values have biases, as in Qwen 2. No key of its config.json shows it. */
export function hasQueryBiases(model: ModelSpec): boolean {
  return /^qwen2/.test(String(model.huggingFace?.['model_type'])) || /^qwen2/.test(presetOf(model) ?? '');
}

/** Positions as YaRN scales them, by the names of a config.json. */
export type YarnScaling = Readonly<Record<string, unknown>>;

const OF_DEEPSEEK = { factor: 40, beta_fast: 32, beta_slow: 1, original_max_position_embeddings: 4096 };

/** The YaRN scaling of a model; undefined if it has none. */
export function yarnOf(model: ModelSpec): YarnScaling | undefined {
  if (model.huggingFace !== undefined) return ropeKindOf(model) === 'yarn' ? ropeScalingOf(model) : undefined;
  const preset = presetOf(model) ?? '';
  if (!/^deepseek-v[23]/.test(preset)) return undefined;
  const mscale = preset.startsWith('deepseek-v2') ? 0.707 : 1;
  return { ...OF_DEEPSEEK, mscale, mscale_all_dim: mscale };
}
