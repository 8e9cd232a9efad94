/** Finds the TorchTitan model that has the sizes of the job. */
import type { EffectiveSpec, ModelSpec } from '@coxswain/api-types';
import type { ModelShape } from '@coxswain/layout';
import type { EngineRefusal } from '../../engine-refusal.ts';
import { modelOfJob } from '../../model-of-job.ts';
import { hasHeadNorms, presetOf, ropeKindOf, ropeScalingOf, rotaryBaseOf } from '../../published-model.ts';
import { given, type Json } from '../check.ts';

/** Packages below torchtitan/models whose parts the sizes fill. */
type Family = 'llama3' | 'qwen3' | 'deepseek_v3';

const RECIPE = 'name a function of the image that makes its configuration in engine.recipe';

/** Of `model_type` in a config.json; other types have parts that none of TorchTitan's models has. */
const FAMILY_OF_TYPE: Readonly<Record<string, Family>> = {
  llama: 'llama3',
  mistral: 'llama3',
  mixtral: 'qwen3',
  qwen3: 'qwen3',
  qwen3_moe: 'qwen3',
  deepseek_v3: 'deepseek_v3',
};
/** By prefix of the preset’s name. */
const FAMILY_OF_PRESET: readonly (readonly [RegExp, Family])[] = [
  [/^(llama|maxtext-\d+b$)/, 'llama3'],
  [/^(mixtral|qwen3-)/, 'qwen3'],
  [/^deepseek-v3/, 'deepseek_v3'],
];

/** Undefined if the spec names a model of another kind. */
function familyOf(spec: ModelSpec, shape: ModelShape): Family | undefined {
  const type = spec.huggingFace?.['model_type'];
  if (typeof type === 'string') return FAMILY_OF_TYPE[type];
  const preset = presetOf(spec);
  if (preset !== undefined) return FAMILY_OF_PRESET.find(([beginning]) => beginning.test(preset))?.[1];
  if (shape.latentAttention !== undefined) return 'deepseek_v3';
  return shape.experts === undefined ? 'llama3' : 'qwen3';
}

/** Parts of a model that every one of the three leaves out. */
const NOT_HAD: readonly (readonly [keyof ModelShape, (shape: ModelShape) => boolean])[] = [
  ['gatedMlp', ({ gatedMlp }) => gatedMlp],
  ['rmsNorm', ({ rmsNorm }) => rmsNorm],
  ['linearBias', ({ linearBias }) => !linearBias],
  ['dropout', ({ dropout }) => !dropout],
  ['learnedPositions', ({ learnedPositions }) => learnedPositions === 0],
  ['windowedLayers', ({ windowedLayers }) => windowedLayers === 0],
  ['attentionSinks', ({ attentionSinks }) => !attentionSinks],
  ['mtpLayers', ({ mtpLayers }) => mtpLayers === 0],
  ['stateSpace', ({ stateSpace }) => stateSpace === undefined],
  ['layerPattern', ({ layerPattern }) => layerPattern === undefined],
];

/** Refuses a model that TorchTitan does not have; undefined if a recipe brings the model. */
export function modelRefusal({ model: spec, engine }: EffectiveSpec): EngineRefusal | undefined {
  if (engine.recipe !== undefined || spec === undefined) return undefined;
  const shape = modelOfJob(spec)?.model;
  // A model that cannot be read is refused elsewhere, for every engine.
  if (shape === undefined) return undefined;
  const family = familyOf(spec, shape);
  if (family === undefined) return lacksModel('model', 'torchtitan has no model of this kind');
  const strange = NOT_HAD.find(([, isHad]) => !isHad(shape))?.[0];
  if (strange !== undefined)
    return lacksModel(`model.${strange}`, `torchtitan's ${family} has no model.${strange} ${String(shape[strange])}`);
  return wrongParts(family, shape) ?? wrongRope(spec);
}

function wrongParts(family: Family, { experts, latentAttention }: ModelShape): EngineRefusal | undefined {
  const isDeepSeek = family === 'deepseek_v3';
  if (isDeepSeek !== (latentAttention !== undefined))
    return lacksModel(
      'model.latentAttention',
      `torchtitan's ${family} ${isDeepSeek ? 'needs' : 'has no'} latent attention`,
    );
  if (experts === undefined)
    return isDeepSeek ? lacksModel('model.experts', "torchtitan's deepseek_v3 needs experts") : undefined;
  if (experts.latentSize > 0)
    return lacksModel('model.experts.latentSize', 'torchtitan dispatches tokens as wide as they are');
  const shared = experts.sharedFfnHiddenSize / experts.ffnHiddenSize;
  if (isDeepSeek)
    return Number.isInteger(shared) && shared > 0
      ? undefined
      : lacksModel('model.experts.sharedFfnHiddenSize', "torchtitan's deepseek_v3 needs whole shared experts");
  if (experts.sharedFfnHiddenSize > 0 || experts.denseLayers > 0)
    return lacksModel(
      `model.experts.${experts.denseLayers > 0 ? 'denseLayers' : 'sharedFfnHiddenSize'}`,
      `torchtitan's ${family} has neither shared experts nor dense layers before them`,
    );
  return undefined;
}

function lacksModel(field: string, why: string): EngineRefusal {
  return { rule: 'engine-lacks-model', field, why, fallback: RECIPE };
}

function wrongRope(spec: ModelSpec): EngineRefusal | undefined {
  const kind = ropeKindOf(spec);
  if (kind === undefined || kind === 'llama3') return undefined;
  return lacksModel('model.huggingFace.rope_scaling', `positions scaled as ${JSON.stringify(kind)} are not rendered`);
}

/**
 * Rotary positions are no size: they come from config.json, from the preset (Llama 2 and 3), or are those of Llama 3 without
 * scaling.
 */
function ropeOf(spec: ModelSpec): Readonly<Record<string, Json>> {
  const scaling = ropeScalingOf(spec);
  return given<Json>({
    theta: rotaryBaseOf(spec) ?? (spec.huggingFace === undefined ? 500_000 : 10_000),
    scaling: ropeKindOf(spec) === 'llama3' ? 'llama' : undefined,
    scaling_factor: numberOf(scaling?.['factor']),
    low_freq_factor: numberOf(scaling?.['low_freq_factor']),
    high_freq_factor: numberOf(scaling?.['high_freq_factor']),
    original_max_position_embeddings: numberOf(scaling?.['original_max_position_embeddings']),
  });
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The sizes as the module reads them; undefined if the job has no model. */
export function modelOf(job: EffectiveSpec): Readonly<Record<string, Json>> | undefined {
  const { model: spec } = job;
  const shape = spec === undefined ? undefined : modelOfJob(spec)?.model;
  if (spec === undefined || shape === undefined) return undefined;
  const { experts, latentAttention: latent } = shape;
  return given<Json>({
    family: job.engine.recipe === undefined ? familyOf(spec, shape) : undefined,
    layers: shape.layers,
    hidden_size: shape.hiddenSize,
    ffn_hidden_size: shape.ffnHiddenSize,
    attention_heads: shape.attentionHeads,
    key_value_heads: shape.keyValueHeads,
    head_dim: shape.headDim,
    head_norms: hasHeadNorms(spec),
    vocabulary_size: shape.vocabularySize,
    tied_embeddings: shape.tiedEmbeddings,
    sequence_length: spec.sequenceLength,
    rope: ropeOf(spec),
    precision: quantizationOf(job),
    experts: experts === undefined ? undefined : expertsOf(job, experts),
    latent_attention:
      latent === undefined
        ? undefined
        : {
            query_rank: latent.queryRank,
            key_value_rank: latent.keyValueRank,
            nope_head_dim: latent.nopeHeadDim,
            rope_head_dim: latent.ropeHeadDim,
            value_head_dim: latent.valueHeadDim,
          },
  });
}

function quantizationOf({ layout }: EffectiveSpec): Json | undefined {
  const precision = layout.kernel?.precision;
  return precision === 'fp8' || precision === 'mxfp8' ? precision : undefined;
}

function expertsOf({ layout }: EffectiveSpec, experts: NonNullable<ModelShape['experts']>): Json {
  const { dispatcher = 'alltoall', balance = 'bias' } = layout.expert ?? {};
  return {
    count: experts.count,
    top_k: experts.topK,
    ffn_hidden_size: experts.ffnHiddenSize,
    shared: experts.sharedFfnHiddenSize / experts.ffnHiddenSize,
    dense_layers: experts.denseLayers,
    dispatcher: dispatcher === 'alltoall' ? 'standard' : dispatcher,
    // torchtitan/models/common/config_utils.py, make_moe_config: what a bias is moved by in each step.
    load_balance_coeff: balance === 'none' ? null : 1e-3,
  };
}
