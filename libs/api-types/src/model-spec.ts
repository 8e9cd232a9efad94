/** Which model does a job train? By the name of a preset, by a config.json, or by its sizes, in the words of the planner. */
import { MODEL_SIZES } from '@coxswain/layout';
import { z } from 'zod';
import { cel, type CelRule } from './cel.ts';

/** 32 kB. A config.json has one to four; the largest that are published list a kind for each of some hundred layers. */
export const MAX_MODEL_CONFIG_BYTES = 32_768;
/** Published ones have four, for how their weights are quantized. A parser runs out of stack at about a thousand. */
const MAX_MODEL_CONFIG_LEVELS = 32;

/** A configuration as its publisher wrote it: keys that no reader knows are kept, and keys that one knows are checked by that reader. */
const HuggingFaceConfig = z
  .record(z.string(), z.unknown())
  .refine((config) => !isDeeperThan(config, MAX_MODEL_CONFIG_LEVELS), {
    abort: true,
    message: `is nested deeper than ${MAX_MODEL_CONFIG_LEVELS} levels; give the keys that describe the model alone`,
  })
  .refine((config) => new TextEncoder().encode(JSON.stringify(config)).length <= MAX_MODEL_CONFIG_BYTES, {
    message: `is longer than ${MAX_MODEL_CONFIG_BYTES} bytes as JSON; give the keys that describe the model alone`,
  })
  .meta({
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    additionalProperties: undefined,
    propertyNames: undefined,
  });

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}

/** Sizes without which there is no model. */
const NEEDED_SIZES = ['layers', 'hiddenSize', 'attentionHeads'] as const;
const OTHER_SIZES = (Object.keys(MODEL_SIZES) as (keyof typeof MODEL_SIZES)[]).filter(
  (name) => !NEEDED_SIZES.some((needed) => needed === name),
);

const SEVERAL_MODELS = 'a model is given by preset, by huggingFace, or by its sizes: give one of the three';
const NO_MODEL = 'a model is given by preset, by huggingFace, or by layers, hiddenSize and attentionHeads; give one';
const SIZES_TOGETHER = 'layers, hiddenSize and attentionHeads describe a model together; give all three';

const has = (name: string): string => `has(self.${name})`;
const isNamed = `(${has('preset')} || ${has('huggingFace')})`;
const anyOf = (names: readonly string[]): string => `(${names.map(has).join(' || ')})`;

const CEL_RULES: readonly CelRule[] = [
  {
    rule: `!(${has('preset')} && ${has('huggingFace')}) && !(${isNamed} && ${anyOf([...NEEDED_SIZES, ...OTHER_SIZES])})`,
    message: SEVERAL_MODELS,
  },
  { rule: `${isNamed} || ${anyOf([...NEEDED_SIZES, ...OTHER_SIZES])}`, message: NO_MODEL },
  {
    rule: `!${anyOf([...NEEDED_SIZES, ...OTHER_SIZES])} || (${NEEDED_SIZES.map(has).join(' && ')})`,
    message: SIZES_TOGETHER,
  },
  {
    rule: `!(${has('hiddenSize')} && ${has('attentionHeads')}) || ${has('headDim')} || self.hiddenSize % self.attentionHeads == 0`,
    messageExpression:
      "'attentionHeads %d does not divide hiddenSize %d'.format([self.attentionHeads, self.hiddenSize])",
    fieldPath: '.attentionHeads',
  },
  {
    rule: `!(${has('attentionHeads')} && ${has('keyValueHeads')}) || self.attentionHeads % self.keyValueHeads == 0`,
    messageExpression:
      "'keyValueHeads %d does not divide attentionHeads %d'.format([self.keyValueHeads, self.attentionHeads])",
    fieldPath: '.keyValueHeads',
  },
];

/** Sizes of the model that a job trains. */
export const ModelSpec = z
  .strictObject({
    preset: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('A model that the planner knows by name, such as llama-3.1-8b: `coxswain presets models` lists them.'),
    huggingFace: HuggingFaceConfig.optional().describe(
      'Content of the config.json of published weights. Unknown architectures are rejected.',
    ),
    layers: MODEL_SIZES.layers.max(1024).optional(),
    hiddenSize: MODEL_SIZES.hiddenSize.max(1_048_576).optional(),
    ffnHiddenSize: MODEL_SIZES.ffnHiddenSize
      .optional()
      .describe('Inner width of a dense MLP. Absent: four times hiddenSize; 0: no layer has one.'),
    attentionHeads: MODEL_SIZES.attentionHeads.max(4096).optional(),
    keyValueHeads: MODEL_SIZES.keyValueHeads
      .optional()
      .describe('Groups of grouped-query attention. Absent: attentionHeads, which is multi-head attention.'),
    headDim: MODEL_SIZES.headDim.optional().describe('Width of one head. Absent: hiddenSize / attentionHeads.'),
    vocabularySize: MODEL_SIZES.vocabularySize.optional().describe('Number of tokens. Absent: 256, for bytes.'),
    gatedMlp: MODEL_SIZES.gatedMlp
      .optional()
      .describe('Gated MLP such as SwiGLU: three matrices instead of two. Absent: two.'),
    rmsNorm: MODEL_SIZES.rmsNorm
      .optional()
      .describe('RMSNorm (one vector) instead of LayerNorm (two). Absent: RMSNorm.'),
    linearBias: MODEL_SIZES.linearBias.optional(),
    dropout: MODEL_SIZES.dropout.optional(),
    tiedEmbeddings: MODEL_SIZES.tiedEmbeddings.optional(),
    learnedPositions: MODEL_SIZES.learnedPositions.optional(),
    attentionWindow: MODEL_SIZES.attentionWindow.optional(),
    windowedLayers: MODEL_SIZES.windowedLayers.optional(),
    attentionSinks: MODEL_SIZES.attentionSinks.optional(),
    mtpLayers: MODEL_SIZES.mtpLayers.optional(),
    experts: MODEL_SIZES.experts,
    latentAttention: MODEL_SIZES.latentAttention,
    stateSpace: MODEL_SIZES.stateSpace,
    layerPattern: MODEL_SIZES.layerPattern,
    sequenceLength: z.int().min(1).max(16_777_216).describe('Tokens per sample.'),
  } satisfies Record<keyof typeof MODEL_SIZES | 'preset' | 'huggingFace' | 'sequenceLength', z.ZodType>)
  .meta({ id: 'ModelSpec', ...cel(...CEL_RULES) })
  .superRefine((model, context) => {
    const refuse = (field: string | undefined, message: string): void => {
      context.addIssue({ code: 'custom', path: field === undefined ? [] : [field], message });
    };
    const sizes = [...NEEDED_SIZES, ...OTHER_SIZES].filter((name) => model[name] !== undefined);
    const named = (['preset', 'huggingFace'] as const).filter((name) => model[name] !== undefined);
    if (named.length > 1 || (named.length > 0 && sizes.length > 0)) return refuse(named[1] ?? sizes[0], SEVERAL_MODELS);
    if (named.length > 0) return;
    if (sizes.length === 0) return refuse(undefined, NO_MODEL);
    for (const name of NEEDED_SIZES) if (model[name] === undefined) refuse(name, SIZES_TOGETHER);
    const { attentionHeads = 1, keyValueHeads = 1, hiddenSize = 0, headDim } = model;
    if (headDim === undefined && hiddenSize % attentionHeads !== 0)
      refuse('attentionHeads', `attentionHeads ${attentionHeads} does not divide hiddenSize ${hiddenSize}`);
    if (attentionHeads % keyValueHeads !== 0)
      refuse('keyValueHeads', `keyValueHeads ${keyValueHeads} does not divide attentionHeads ${attentionHeads}`);
  });
export type ModelSpec = z.infer<typeof ModelSpec>;
