/** What do published models say of themselves beyond sizes: rotary positions, norms of queries and keys, biases? */
import type { ModelSpec } from '@coxswain/api-types';
import { modelOf } from '@coxswain/planner/presets';
import { modelOfJob } from './model-of-job.ts';

/** The planner's own name of the preset, whichever spelling the job has; undefined where it names none that is known. */
export function presetOf(model: ModelSpec): string | undefined {
  if (model.preset === undefined || modelOfJob(model) === undefined) return undefined;
  return modelOf(model.preset).name;
}

/** Bases of rotary positions, by how the name of a preset begins. */
const BASE_OF_PRESET: readonly (readonly [RegExp, number])[] = [
  [/^llama-3/, 500_000],
  [/^(llama-2|deepseek)/, 10_000],
  [/^(mixtral|qwen3)/, 1_000_000],
];

/** Undefined where nobody says it: transformers has 10,000 then, which is what Llama had. */
export function rotaryBaseOf(words: ModelSpec): number | undefined {
  const { huggingFace } = words;
  const said = ropeScalingOf(words)?.['rope_theta'] ?? huggingFace?.['rope_theta'];
  if (huggingFace !== undefined) return typeof said === 'number' ? said : undefined;
  const preset = presetOf(words) ?? '';
  return BASE_OF_PRESET.find(([beginning]) => beginning.test(preset))?.[1];
}

/** `rope_scaling` of a config.json, `rope_parameters` from transformers 5 on. */
export function ropeScalingOf({ huggingFace }: ModelSpec): Readonly<Record<string, unknown>> | undefined {
  const said = huggingFace?.['rope_parameters'] ?? huggingFace?.['rope_scaling'];
  return typeof said === 'object' && said !== null ? (said as Readonly<Record<string, unknown>>) : undefined;
}

/** `llama3`, `yarn` and the like; undefined where positions are as they come. */
export function ropeKindOf(words: ModelSpec): string | undefined {
  if (/^llama-3\.1/.test(presetOf(words) ?? '')) return 'llama3';
  const scaling = ropeScalingOf(words);
  const kind = scaling?.['rope_type'] ?? scaling?.['type'];
  return kind === undefined || kind === 'default' ? undefined : String(kind);
}

/** Qwen 3 norms queries and keys, Mixtral does not; who gives sizes alone has the plainer block. */
export function hasHeadNorms(words: ModelSpec): boolean {
  return /^qwen3-/.test(presetOf(words) ?? '') || String(words.huggingFace?.['model_type']).startsWith('qwen3');
}

/** Qwen 2 has biases in the projections of queries, keys and values alone, and no key of its config.json says so. */
export function hasQueryBiases(words: ModelSpec): boolean {
  return /^qwen2/.test(String(words.huggingFace?.['model_type'])) || /^qwen2/.test(presetOf(words) ?? '');
}

/** Positions as YaRN scales them, by the names of a config.json. */
export type YarnScaling = Readonly<Record<string, unknown>>;

const OF_DEEPSEEK = { factor: 40, beta_fast: 32, beta_slow: 1, original_max_position_embeddings: 4096 };

/** Undefined where positions are not scaled so. */
export function yarnOf(words: ModelSpec): YarnScaling | undefined {
  if (words.huggingFace !== undefined) return ropeKindOf(words) === 'yarn' ? ropeScalingOf(words) : undefined;
  const preset = presetOf(words) ?? '';
  if (!/^deepseek-v[23]/.test(preset)) return undefined;
  const mscale = preset.startsWith('deepseek-v2') ? 0.707 : 1;
  return { ...OF_DEEPSEEK, mscale, mscale_all_dim: mscale };
}
