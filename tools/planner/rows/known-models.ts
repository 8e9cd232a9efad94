/**
 * What tables of measurements leave out because the model's name says it: attention kind, shared experts, windows and, where a table
 * prints no sizes at all, the sizes. From the published configurations (`config.json`) of each model.
 */
import type { ModelShape } from '@coxswain/layout';

type Experts = NonNullable<ModelShape['experts']>;

/** Facts that hold for every model of a name; a table's own figures go before them. */
export interface KnownModel {
  readonly words: RegExp;
  readonly sizes?: Partial<
    Pick<ModelShape, 'layers' | 'hiddenSize' | 'ffnHiddenSize' | 'attentionHeads' | 'keyValueHeads' | 'vocabularySize'>
  >;
  readonly facts?: Partial<Omit<ModelShape, 'experts'>>;
  readonly experts?: Partial<Experts>;
  /** Inner width of the dense layers where `ffn_hidden` is that of one expert. */
  readonly denseFfnHiddenSize?: number;
}

const DEEPSEEK_ATTENTION = {
  queryRank: 1536,
  keyValueRank: 512,
  nopeHeadDim: 128,
  ropeHeadDim: 64,
  valueHeadDim: 128,
} as const;

/** The first entry whose words a model name contains; more specific names stand first. Names are lower case with single dashes. */
export const KNOWN_MODELS: readonly KnownModel[] = [
  {
    words: /deepseek-?v3|deepseek-?r1/,
    sizes: { layers: 61, hiddenSize: 7168, attentionHeads: 128, keyValueHeads: 128, vocabularySize: 129280 },
    facts: { latentAttention: DEEPSEEK_ATTENTION, headDim: 192, mtpLayers: 1 },
    experts: { count: 256, topK: 8, ffnHiddenSize: 2048, sharedFfnHiddenSize: 2048, denseLayers: 3 },
    denseFfnHiddenSize: 18432,
  },
  {
    words: /deepseek-?v2-lite/,
    sizes: { layers: 27, hiddenSize: 2048, attentionHeads: 16, keyValueHeads: 16, vocabularySize: 102400 },
    facts: { latentAttention: { ...DEEPSEEK_ATTENTION, queryRank: 0 }, headDim: 192 },
    experts: { count: 64, topK: 6, ffnHiddenSize: 1408, sharedFfnHiddenSize: 2816, denseLayers: 1 },
    denseFfnHiddenSize: 10944,
  },
  {
    words: /deepseek-?v2/,
    sizes: { layers: 60, hiddenSize: 5120, attentionHeads: 128, keyValueHeads: 128, vocabularySize: 102400 },
    facts: { latentAttention: DEEPSEEK_ATTENTION, headDim: 192 },
    experts: { count: 160, topK: 6, ffnHiddenSize: 1536, sharedFfnHiddenSize: 3072, denseLayers: 1 },
    denseFfnHiddenSize: 12288,
  },
  {
    words: /moonlight/,
    sizes: { layers: 27, hiddenSize: 2048, attentionHeads: 16, keyValueHeads: 16, vocabularySize: 163840 },
    facts: { latentAttention: { ...DEEPSEEK_ATTENTION, queryRank: 0 }, headDim: 192 },
    experts: { count: 64, topK: 6, ffnHiddenSize: 1408, sharedFfnHiddenSize: 2816, denseLayers: 1 },
    denseFfnHiddenSize: 11264,
  },
  {
    words: /kimi-?k2/,
    sizes: { layers: 61, hiddenSize: 7168, attentionHeads: 64, keyValueHeads: 64, vocabularySize: 163840 },
    facts: { latentAttention: DEEPSEEK_ATTENTION, headDim: 192 },
    experts: { count: 384, topK: 8, ffnHiddenSize: 2048, sharedFfnHiddenSize: 2048, denseLayers: 1 },
    denseFfnHiddenSize: 18432,
  },
  {
    words: /gpt-oss-120b/,
    sizes: { layers: 36, hiddenSize: 2880, attentionHeads: 64, keyValueHeads: 8, vocabularySize: 201088 },
    facts: { headDim: 64, attentionWindow: 128, windowedLayers: 18, linearBias: true },
    experts: { count: 128, topK: 4, ffnHiddenSize: 2880 },
  },
  {
    words: /gpt-oss-20b/,
    sizes: { layers: 24, hiddenSize: 2880, attentionHeads: 64, keyValueHeads: 8, vocabularySize: 201088 },
    facts: { headDim: 64, attentionWindow: 128, windowedLayers: 12, linearBias: true },
    experts: { count: 32, topK: 4, ffnHiddenSize: 2880 },
  },
  {
    words: /qwen3-30b/,
    sizes: { layers: 48, hiddenSize: 2048, attentionHeads: 32, keyValueHeads: 4, vocabularySize: 151936 },
    facts: { headDim: 128 },
    experts: { count: 128, topK: 8, ffnHiddenSize: 768 },
  },
  {
    words: /qwen3-235b/,
    sizes: { layers: 94, hiddenSize: 4096, attentionHeads: 64, keyValueHeads: 4, vocabularySize: 151936 },
    facts: { headDim: 128 },
    experts: { count: 128, topK: 8, ffnHiddenSize: 1536 },
  },
  {
    words: /qwen2-57b/,
    sizes: { layers: 28, hiddenSize: 3584, attentionHeads: 28, keyValueHeads: 4, vocabularySize: 151936 },
    experts: { count: 64, topK: 8, ffnHiddenSize: 2560, sharedFfnHiddenSize: 20480 },
  },
  { words: /qwen3/, facts: { headDim: 128 } },
  {
    words: /mixtral-8x7b/,
    sizes: { layers: 32, hiddenSize: 4096, attentionHeads: 32, keyValueHeads: 8, vocabularySize: 32000 },
    experts: { count: 8, topK: 2, ffnHiddenSize: 14336 },
  },
  {
    words: /mixtral-8x22b/,
    sizes: { layers: 56, hiddenSize: 6144, attentionHeads: 48, keyValueHeads: 8, vocabularySize: 32000 },
    experts: { count: 8, topK: 2, ffnHiddenSize: 16384 },
  },
  {
    words: /nemotron-3-nano/,
    sizes: {
      layers: 52,
      hiddenSize: 2688,
      ffnHiddenSize: 1856,
      attentionHeads: 32,
      keyValueHeads: 2,
      vocabularySize: 131072,
    },
    facts: {
      headDim: 128,
      layerPattern: 'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME',
      stateSpace: { stateSize: 128, heads: 64, headDim: 64, groups: 8, convKernel: 4 },
    },
    experts: { count: 128, topK: 6, ffnHiddenSize: 1856, sharedFfnHiddenSize: 3712 },
  },
  {
    words: /nemotron-3-super/,
    sizes: {
      layers: 88,
      hiddenSize: 4096,
      ffnHiddenSize: 2688,
      attentionHeads: 32,
      keyValueHeads: 2,
      vocabularySize: 131072,
    },
    facts: {
      headDim: 128,
      layerPattern: 'MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME',
      stateSpace: { stateSize: 128, heads: 128, headDim: 64, groups: 8, convKernel: 4 },
      mtpLayers: 1,
    },
    experts: { count: 512, topK: 22, ffnHiddenSize: 2688, sharedFfnHiddenSize: 5376, latentSize: 1024 },
  },
];

/** The facts of a model's name; undefined where only a table's figures are known. */
export function knownModelOf(name: string): KnownModel | undefined {
  const text = plainName(name);
  return KNOWN_MODELS.find(({ words }) => words.test(text));
}

/** Lower case, one dash between words. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9.]+/g, '-');
}
