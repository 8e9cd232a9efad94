/**
 * Models the planner knows by name, as their publishers configured them. This file is data: it is as long as there are models.
 *
 * Sizes come from the `config.json` beside the published weights, from the paper, or from the training framework's own recipe; `source`
 * says which. Vocabularies are the padded ones where a recipe pads (51,200 for the GPT family of Megatron-LM).
 *
 * More than 400 lines: a table with a row per model.
 */
import { ModelShape } from '@coxswain/layout';
import type { z } from 'zod';
import { namedOf, type Named } from './named.ts';

/** A model with the source of its sizes. */
export interface ModelPreset extends Named {
  readonly title: string;
  readonly model: ModelShape;
  readonly source: string;
}

type Sizes = z.input<typeof ModelShape>;

interface Labels {
  readonly title: string;
  readonly aliases?: readonly string[];
  readonly source: string;
}

function preset(name: string, { title, aliases = [], source }: Labels, sizes: Sizes): ModelPreset {
  return { name, title, aliases: [title, ...aliases], source, model: ModelShape.parse({ name: title, ...sizes }) };
}

const CONFIG_JSON = 'config.json of the published weights';
const MEGATRON_2021 = 'Narayanan et al. 2021 (arXiv 2104.04473) table 1';
const MEGATRON_2022 = 'Korthikanti et al. 2022 (arXiv 2205.05198) table 3';

interface GptSizes {
  readonly layers: number;
  readonly hiddenSize: number;
  readonly heads: number;
  readonly vocabularySize?: number;
}

/** GPT-2's block at any size: multi-head attention, GELU, LayerNorm, biases, dropout, learned positions and a tied output. */
function gpt({ layers, hiddenSize, heads, vocabularySize = 51_200 }: GptSizes): Sizes {
  return {
    layers,
    hiddenSize,
    ffnHiddenSize: 4 * hiddenSize,
    attentionHeads: heads,
    keyValueHeads: heads,
    headDim: hiddenSize / heads,
    vocabularySize,
    gatedMlp: false,
    rmsNorm: false,
    linearBias: true,
    dropout: true,
    tiedEmbeddings: true,
    learnedPositions: 2048,
  };
}

interface LlamaSizes {
  readonly layers: number;
  readonly hiddenSize: number;
  readonly ffnHiddenSize: number;
  readonly heads: number;
  readonly keyValueHeads?: number;
  readonly headDim?: number;
  readonly vocabularySize: number;
}

/** Llama's block: grouped queries, SwiGLU, RMSNorm, rotary positions, no biases, an output of its own. */
function llama({ heads, keyValueHeads = heads, headDim, ...sizes }: LlamaSizes): Sizes {
  return {
    ...sizes,
    attentionHeads: heads,
    keyValueHeads,
    headDim: headDim ?? sizes.hiddenSize / heads,
    gatedMlp: true,
  };
}

/** DeepSeek-V3's latent attention; V2-Lite and Moonlight do not compress queries. */
const latentAttention = (queryRank: number): NonNullable<Sizes['latentAttention']> => ({
  queryRank,
  keyValueRank: 512,
  nopeHeadDim: 128,
  ropeHeadDim: 64,
  valueHeadDim: 128,
});

/** Nemotron's block: squared ReLU without a gate. */
function nemotron(sizes: LlamaSizes): Sizes {
  return { ...llama(sizes), gatedMlp: false };
}

const NANO_PATTERN = 'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME';
const SUPER_PATTERN = 'MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME';
const ULTRA_PATTERN =
  'MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME';

interface MaxTextSizes {
  readonly scale: number;
  readonly layers: number;
  readonly hiddenSize: number;
  readonly heads: number;
  readonly ffnHiddenSize: number;
}

/** The synthetic models that MaxText's TPU tables were measured with: `global_parameter_scale` multiplies a 1B base model. */
function maxText({ scale, layers, hiddenSize, heads, ffnHiddenSize }: MaxTextSizes): ModelPreset {
  const labels = {
    title: `MaxText ${scale}B`,
    aliases: [`MaxText-${scale}B`],
    source: `MaxText src/maxtext/configs, global_parameter_scale=${scale}`,
  };
  const sizes = { layers, hiddenSize, ffnHiddenSize, heads, headDim: 128, vocabularySize: 32_000 };
  return preset(`maxtext-${scale}b`, labels, llama(sizes));
}

/** MaxText's first TPU v4 models had wider heads and a plain MLP. */
function maxTextV4(name: string, title: string, { layers, hiddenSize, heads }: GptSizes): ModelPreset {
  return preset(
    name,
    {
      title,
      source: 'MaxText src/maxtext/configs/tpu/v4; heads of 256 and a plain MLP, as the sizes in its names need',
    },
    {
      ...llama({ layers, hiddenSize, heads, headDim: 256, ffnHiddenSize: 4 * hiddenSize, vocabularySize: 32_000 }),
      gatedMlp: false,
    },
  );
}

/** Every model preset. A name or alias means the first preset that has it. */
export const MODEL_PRESETS: readonly ModelPreset[] = [
  preset('gpt-1.7b', { title: 'GPT 1.7B', source: MEGATRON_2021 }, gpt({ layers: 24, hiddenSize: 2304, heads: 24 })),
  preset('gpt-3.6b', { title: 'GPT 3.6B', source: MEGATRON_2021 }, gpt({ layers: 30, hiddenSize: 3072, heads: 32 })),
  preset('gpt-7.5b', { title: 'GPT 7.5B', source: MEGATRON_2021 }, gpt({ layers: 36, hiddenSize: 4096, heads: 32 })),
  preset('gpt-18b', { title: 'GPT 18.4B', source: MEGATRON_2021 }, gpt({ layers: 40, hiddenSize: 6144, heads: 48 })),
  preset('gpt-22b', { title: 'GPT 22B', source: MEGATRON_2022 }, gpt({ layers: 48, hiddenSize: 6144, heads: 64 })),
  preset('gpt-39b', { title: 'GPT 39.1B', source: MEGATRON_2021 }, gpt({ layers: 48, hiddenSize: 8192, heads: 64 })),
  preset('gpt-76b', { title: 'GPT 76.1B', source: MEGATRON_2021 }, gpt({ layers: 60, hiddenSize: 10_240, heads: 80 })),
  preset(
    'gpt-146b',
    { title: 'GPT 145.6B', source: MEGATRON_2021 },
    gpt({ layers: 80, hiddenSize: 12_288, heads: 96 }),
  ),
  preset(
    'gpt3-175b',
    { title: 'GPT-3 175B', aliases: ['gpt-175b', 'gpt3', 'GPT-175.0B', 'GPT-174.6B'], source: MEGATRON_2022 },
    gpt({ layers: 96, hiddenSize: 12_288, heads: 96 }),
  ),
  preset(
    'gpt-310b',
    { title: 'GPT 310.1B', source: MEGATRON_2021 },
    gpt({ layers: 96, hiddenSize: 16_384, heads: 128 }),
  ),
  preset(
    'gpt-530b',
    { title: 'MT-NLG 530B', aliases: ['mt-nlg-530b', 'GPT-529.6B', 'megatron-turing'], source: MEGATRON_2022 },
    gpt({ layers: 105, hiddenSize: 20_480, heads: 128 }),
  ),
  preset(
    'megatron-1t',
    { title: 'Megatron 1T', aliases: ['gpt-1t', 'GPT-1008.0B', 'gpt-1008b'], source: MEGATRON_2022 },
    gpt({ layers: 128, hiddenSize: 25_600, heads: 160 }),
  ),
  preset(
    'gpt-neox-20b',
    { title: 'GPT-NeoX 20B', source: CONFIG_JSON },
    {
      ...gpt({ layers: 44, hiddenSize: 6144, heads: 64, vocabularySize: 50_432 }),
      dropout: false,
      tiedEmbeddings: false,
      learnedPositions: 0,
    },
  ),
  preset(
    'opt-175b',
    { title: 'OPT 175B', source: 'Zhang et al. 2022 (arXiv 2205.01068) table 1' },
    gpt({ layers: 96, hiddenSize: 12_288, heads: 96, vocabularySize: 50_272 }),
  ),
  preset(
    'bloom-176b',
    { title: 'BLOOM 176B', aliases: ['bloom'], source: CONFIG_JSON },
    {
      // ALiBi instead of learned positions.
      ...gpt({ layers: 70, hiddenSize: 14_336, heads: 112, vocabularySize: 250_880 }),
      dropout: false,
      learnedPositions: 0,
    },
  ),
  preset(
    'llama-2-7b',
    { title: 'Llama 2 7B', aliases: ['llama2-7b', 'llama-7b'], source: CONFIG_JSON },
    llama({ layers: 32, hiddenSize: 4096, ffnHiddenSize: 11_008, heads: 32, vocabularySize: 32_000 }),
  ),
  preset(
    'llama-2-13b',
    { title: 'Llama 2 13B', aliases: ['llama2-13b', 'llama-13b'], source: CONFIG_JSON },
    llama({ layers: 40, hiddenSize: 5120, ffnHiddenSize: 13_824, heads: 40, vocabularySize: 32_000 }),
  ),
  preset(
    'llama-2-70b',
    { title: 'Llama 2 70B', aliases: ['llama2-70b'], source: CONFIG_JSON },
    llama({
      layers: 80,
      hiddenSize: 8192,
      ffnHiddenSize: 28_672,
      heads: 64,
      keyValueHeads: 8,
      vocabularySize: 32_000,
    }),
  ),
  preset(
    'llama-3.1-8b',
    { title: 'Llama 3.1 8B', aliases: ['llama-3-8b', 'llama3-8b', 'llama3.1-8b'], source: CONFIG_JSON },
    llama({
      layers: 32,
      hiddenSize: 4096,
      ffnHiddenSize: 14_336,
      heads: 32,
      keyValueHeads: 8,
      vocabularySize: 128_256,
    }),
  ),
  preset(
    'llama-3.1-70b',
    {
      title: 'Llama 3.1 70B',
      aliases: ['llama-3-70b', 'llama3-70b', 'llama3.1-70b', 'llama-3.3-70b'],
      source: CONFIG_JSON,
    },
    llama({
      layers: 80,
      hiddenSize: 8192,
      ffnHiddenSize: 28_672,
      heads: 64,
      keyValueHeads: 8,
      vocabularySize: 128_256,
    }),
  ),
  preset(
    'llama-3.1-405b',
    { title: 'Llama 3.1 405B', aliases: ['llama-3-405b', 'llama3-405b', 'llama3.1-405b'], source: CONFIG_JSON },
    llama({
      layers: 126,
      hiddenSize: 16_384,
      ffnHiddenSize: 53_248,
      heads: 128,
      keyValueHeads: 8,
      vocabularySize: 128_256,
    }),
  ),
  preset(
    'mixtral-8x7b',
    { title: 'Mixtral 8x7B', source: CONFIG_JSON },
    {
      ...llama({
        layers: 32,
        hiddenSize: 4096,
        ffnHiddenSize: 0,
        heads: 32,
        keyValueHeads: 8,
        vocabularySize: 32_000,
      }),
      experts: { count: 8, topK: 2, ffnHiddenSize: 14_336 },
    },
  ),
  preset(
    'mixtral-8x22b',
    { title: 'Mixtral 8x22B', source: CONFIG_JSON },
    {
      ...llama({
        layers: 56,
        hiddenSize: 6144,
        ffnHiddenSize: 0,
        heads: 48,
        keyValueHeads: 8,
        vocabularySize: 32_000,
      }),
      experts: { count: 8, topK: 2, ffnHiddenSize: 16_384 },
    },
  ),
  preset(
    'deepseek-v2-lite',
    { title: 'DeepSeek-V2-Lite', aliases: ['deepseek-v2-16b'], source: CONFIG_JSON },
    {
      ...llama({ layers: 27, hiddenSize: 2048, ffnHiddenSize: 10_944, heads: 16, vocabularySize: 102_400 }),
      experts: { count: 64, topK: 6, ffnHiddenSize: 1408, sharedFfnHiddenSize: 2 * 1408, denseLayers: 1 },
      latentAttention: latentAttention(0),
    },
  ),
  preset(
    'deepseek-v2',
    { title: 'DeepSeek-V2', aliases: ['deepseek-v2-236b'], source: CONFIG_JSON },
    {
      ...llama({
        layers: 60,
        hiddenSize: 5120,
        ffnHiddenSize: 12_288,
        heads: 128,
        headDim: 128,
        vocabularySize: 102_400,
      }),
      experts: { count: 160, topK: 6, ffnHiddenSize: 1536, sharedFfnHiddenSize: 2 * 1536, denseLayers: 1 },
      latentAttention: latentAttention(1536),
    },
  ),
  preset(
    'deepseek-v3',
    { title: 'DeepSeek-V3', aliases: ['deepseek-v3-671b', 'deepseek-r1'], source: CONFIG_JSON },
    {
      ...llama({
        layers: 61,
        hiddenSize: 7168,
        ffnHiddenSize: 18_432,
        heads: 128,
        headDim: 128,
        vocabularySize: 129_280,
      }),
      mtpLayers: 1,
      experts: { count: 256, topK: 8, ffnHiddenSize: 2048, sharedFfnHiddenSize: 2048, denseLayers: 3 },
      latentAttention: latentAttention(1536),
    },
  ),
  preset(
    'glm-5',
    {
      title: 'GLM-5',
      aliases: ['glm-5.1', 'glm-5.2', 'glm5-2'],
      source: `${CONFIG_JSON}; sparse attention as full attention`,
    },
    {
      ...llama({
        layers: 78,
        hiddenSize: 6144,
        ffnHiddenSize: 12_288,
        heads: 64,
        headDim: 256,
        vocabularySize: 154_880,
      }),
      mtpLayers: 1,
      experts: { count: 256, topK: 8, ffnHiddenSize: 2048, sharedFfnHiddenSize: 2048, denseLayers: 3 },
      latentAttention: { queryRank: 2048, keyValueRank: 512, nopeHeadDim: 192, ropeHeadDim: 64, valueHeadDim: 256 },
    },
  ),
  preset(
    'moonlight-16b-a3b',
    { title: 'Moonlight 16B-A3B', aliases: ['moonlight'], source: CONFIG_JSON },
    {
      ...llama({ layers: 27, hiddenSize: 2048, ffnHiddenSize: 11_264, heads: 16, vocabularySize: 163_840 }),
      experts: { count: 64, topK: 6, ffnHiddenSize: 1408, sharedFfnHiddenSize: 2 * 1408, denseLayers: 1 },
      latentAttention: latentAttention(0),
    },
  ),
  preset(
    'kimi-k2',
    { title: 'Kimi K2', source: CONFIG_JSON },
    {
      ...llama({
        layers: 61,
        hiddenSize: 7168,
        ffnHiddenSize: 18_432,
        heads: 64,
        headDim: 128,
        vocabularySize: 163_840,
      }),
      experts: { count: 384, topK: 8, ffnHiddenSize: 2048, sharedFfnHiddenSize: 2048, denseLayers: 1 },
      latentAttention: latentAttention(1536),
    },
  ),
  preset(
    'qwen2-57b-a14b',
    { title: 'Qwen2 57B-A14B', source: CONFIG_JSON },
    {
      ...llama({
        layers: 28,
        hiddenSize: 3584,
        ffnHiddenSize: 0,
        heads: 28,
        keyValueHeads: 4,
        vocabularySize: 151_936,
      }),
      experts: { count: 64, topK: 8, ffnHiddenSize: 2560, sharedFfnHiddenSize: 20_480 },
    },
  ),
  preset(
    'qwen3-8b',
    { title: 'Qwen3 8B', source: CONFIG_JSON },
    llama({
      layers: 36,
      hiddenSize: 4096,
      ffnHiddenSize: 12_288,
      heads: 32,
      keyValueHeads: 8,
      vocabularySize: 151_936,
    }),
  ),
  preset(
    'qwen3-32b',
    { title: 'Qwen3 32B', source: CONFIG_JSON },
    llama({
      layers: 64,
      hiddenSize: 5120,
      ffnHiddenSize: 25_600,
      heads: 64,
      keyValueHeads: 8,
      headDim: 128,
      vocabularySize: 151_936,
    }),
  ),
  preset(
    'qwen3-30b-a3b',
    { title: 'Qwen3 30B-A3B', source: CONFIG_JSON },
    {
      ...llama({
        layers: 48,
        hiddenSize: 2048,
        ffnHiddenSize: 0,
        heads: 32,
        keyValueHeads: 4,
        headDim: 128,
        vocabularySize: 151_936,
      }),
      experts: { count: 128, topK: 8, ffnHiddenSize: 768 },
    },
  ),
  preset(
    'qwen3-235b-a22b',
    { title: 'Qwen3 235B-A22B', source: CONFIG_JSON },
    {
      ...llama({
        layers: 94,
        hiddenSize: 4096,
        ffnHiddenSize: 0,
        heads: 64,
        keyValueHeads: 4,
        headDim: 128,
        vocabularySize: 151_936,
      }),
      experts: { count: 128, topK: 8, ffnHiddenSize: 1536 },
    },
  ),
  preset(
    'qwen3.5-27b',
    {
      title: 'Qwen3.5 27B',
      aliases: ['qwen3.6-27b'],
      source: `${CONFIG_JSON}; gated delta rule as Mamba-2 of the same widths`,
    },
    {
      ...llama({
        layers: 128,
        hiddenSize: 5120,
        ffnHiddenSize: 17_408,
        heads: 24,
        keyValueHeads: 4,
        headDim: 256,
        vocabularySize: 248_320,
      }),
      mtpLayers: 1,
      layerPattern: 'M-M-M-*-'.repeat(16),
      stateSpace: { stateSize: 128, heads: 48, headDim: 128, groups: 16 },
    },
  ),
  preset(
    'qwen3.5-35b-a3b',
    {
      title: 'Qwen3.5 35B-A3B',
      aliases: ['qwen3.6-35b-a3b'],
      source: `${CONFIG_JSON}; gated delta rule as Mamba-2 of the same widths`,
    },
    {
      ...llama({
        layers: 80,
        hiddenSize: 2048,
        ffnHiddenSize: 0,
        heads: 16,
        keyValueHeads: 2,
        headDim: 256,
        vocabularySize: 248_320,
      }),
      mtpLayers: 1,
      layerPattern: 'MEMEME*E'.repeat(10),
      experts: { count: 256, topK: 8, ffnHiddenSize: 512, sharedFfnHiddenSize: 512 },
      stateSpace: { stateSize: 128, heads: 32, headDim: 128, groups: 16 },
    },
  ),
  preset(
    'nemotron-3-8b',
    { title: 'Nemotron-3 8B', aliases: ['nemotron-8b'], source: 'NVIDIA model card of nemotron-3-8b-base-4k' },
    nemotron({ layers: 32, hiddenSize: 4096, ffnHiddenSize: 16_384, heads: 32, vocabularySize: 256_000 }),
  ),
  preset(
    'nemotron-4-15b',
    { title: 'Nemotron-4 15B', source: 'Parmar et al. 2024 (arXiv 2402.16819) table 1' },
    {
      ...nemotron({
        layers: 32,
        hiddenSize: 6144,
        ffnHiddenSize: 24_576,
        heads: 48,
        keyValueHeads: 8,
        vocabularySize: 256_000,
      }),
      rmsNorm: false,
    },
  ),
  preset(
    'nemotron-4-340b',
    { title: 'Nemotron-4 340B', source: 'NVIDIA 2024 (arXiv 2406.11704) table 1' },
    {
      ...nemotron({
        layers: 96,
        hiddenSize: 18_432,
        ffnHiddenSize: 73_728,
        heads: 96,
        keyValueHeads: 8,
        vocabularySize: 256_000,
      }),
      rmsNorm: false,
    },
  ),
  preset(
    'mamba2-hybrid-8b',
    {
      title: 'Mamba-2 hybrid 8B',
      aliases: ['mamba-hybrid-8b'],
      source: 'Waleffe et al. 2024 (arXiv 2406.07887) table 6',
    },
    {
      ...nemotron({
        layers: 56,
        hiddenSize: 4096,
        ffnHiddenSize: 16_384,
        heads: 32,
        keyValueHeads: 8,
        vocabularySize: 256_000,
      }),
      layerPattern: 'M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-',
      stateSpace: { stateSize: 128, heads: 128, headDim: 64, groups: 8 },
    },
  ),
  preset(
    'nemotron-h-8b',
    { title: 'Nemotron-H 8B', source: CONFIG_JSON },
    {
      ...nemotron({
        layers: 52,
        hiddenSize: 4096,
        ffnHiddenSize: 21_504,
        heads: 32,
        keyValueHeads: 8,
        vocabularySize: 131_072,
      }),
      layerPattern: 'M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-',
      stateSpace: { stateSize: 128, heads: 128, headDim: 64, groups: 8 },
    },
  ),
  preset(
    'nemotron-h-56b',
    { title: 'Nemotron-H 56B', source: CONFIG_JSON },
    {
      ...nemotron({
        layers: 118,
        hiddenSize: 8192,
        ffnHiddenSize: 32_768,
        heads: 64,
        keyValueHeads: 8,
        vocabularySize: 131_072,
      }),
      layerPattern: `M-M-M-M*${'-M-M-M-M-M*'.repeat(9)}-M-M-M-M-M-`,
      stateSpace: { stateSize: 256, heads: 256, headDim: 64, groups: 8 },
    },
  ),
  preset(
    'nemotron-3-nano-30b-a3b',
    { title: 'Nemotron 3 Nano 30B-A3B', aliases: ['nemotron-3-nano', 'nemotron-nano-30b'], source: CONFIG_JSON },
    {
      ...nemotron({
        layers: 52,
        hiddenSize: 2688,
        ffnHiddenSize: 0,
        heads: 32,
        keyValueHeads: 2,
        headDim: 128,
        vocabularySize: 131_072,
      }),
      layerPattern: NANO_PATTERN,
      experts: { count: 128, topK: 6, ffnHiddenSize: 1856, sharedFfnHiddenSize: 3712 },
      stateSpace: { stateSize: 128, heads: 64, headDim: 64, groups: 8 },
    },
  ),
  preset(
    'nemotron-3-super-120b-a12b',
    { title: 'Nemotron 3 Super 120B-A12B', aliases: ['nemotron-3-super'], source: CONFIG_JSON },
    {
      ...nemotron({
        layers: 88,
        hiddenSize: 4096,
        ffnHiddenSize: 0,
        heads: 32,
        keyValueHeads: 2,
        headDim: 128,
        vocabularySize: 131_072,
      }),
      mtpLayers: 1,
      layerPattern: SUPER_PATTERN,
      experts: { count: 512, topK: 22, ffnHiddenSize: 2688, sharedFfnHiddenSize: 5376, latentSize: 1024 },
      stateSpace: { stateSize: 128, heads: 128, headDim: 64, groups: 8 },
    },
  ),
  preset(
    'nemotron-3-ultra-550b-a55b',
    { title: 'Nemotron 3 Ultra 550B-A55B', aliases: ['nemotron-3-ultra'], source: CONFIG_JSON },
    {
      ...nemotron({
        layers: 108,
        hiddenSize: 8192,
        ffnHiddenSize: 0,
        heads: 64,
        keyValueHeads: 2,
        headDim: 128,
        vocabularySize: 131_072,
      }),
      mtpLayers: 1,
      layerPattern: ULTRA_PATTERN,
      experts: { count: 512, topK: 22, ffnHiddenSize: 5120, sharedFfnHiddenSize: 10_240, latentSize: 2048 },
      stateSpace: { stateSize: 128, heads: 256, headDim: 64, groups: 8 },
    },
  ),
  preset('gpt-oss-20b', { title: 'GPT-OSS 20B', source: CONFIG_JSON }, gptOss({ layers: 24, experts: 32 })),
  preset('gpt-oss-120b', { title: 'GPT-OSS 120B', source: CONFIG_JSON }, gptOss({ layers: 36, experts: 128 })),
  preset(
    'palm-540b',
    { title: 'PaLM 540B', source: 'Chowdhery et al. 2022 (arXiv 2204.02311) table 1' },
    {
      ...llama({
        layers: 118,
        hiddenSize: 18_432,
        ffnHiddenSize: 73_728,
        heads: 48,
        keyValueHeads: 1,
        headDim: 256,
        vocabularySize: 256_000,
      }),
      tiedEmbeddings: true,
    },
  ),
  maxTextV4('maxtext-22b', 'MaxText 22B', { layers: 48, hiddenSize: 6144, heads: 24 }),
  maxTextV4('maxtext-52b', 'MaxText 52B', { layers: 32, hiddenSize: 12_288, heads: 32 }),
  maxText({ scale: 16, layers: 32, hiddenSize: 4096, heads: 64, ffnHiddenSize: 28_672 }),
  maxText({ scale: 32, layers: 32, hiddenSize: 8192, heads: 64, ffnHiddenSize: 28_672 }),
  maxText({ scale: 64, layers: 64, hiddenSize: 8192, heads: 64, ffnHiddenSize: 28_672 }),
  maxText({ scale: 128, layers: 64, hiddenSize: 8192, heads: 128, ffnHiddenSize: 57_344 }),
  maxText({ scale: 256, layers: 64, hiddenSize: 16_384, heads: 128, ffnHiddenSize: 57_344 }),
  maxText({ scale: 512, layers: 128, hiddenSize: 16_384, heads: 128, ffnHiddenSize: 57_344 }),
  maxText({ scale: 1024, layers: 128, hiddenSize: 16_384, heads: 256, ffnHiddenSize: 114_688 }),
];

/** Every second layer attends to a window of 128 tokens; biases and attention sinks everywhere. */
function gptOss({ layers, experts }: { readonly layers: number; readonly experts: number }): Sizes {
  return {
    ...llama({
      layers,
      hiddenSize: 2880,
      ffnHiddenSize: 0,
      heads: 64,
      keyValueHeads: 8,
      headDim: 64,
      vocabularySize: 201_088,
    }),
    linearBias: true,
    attentionWindow: 128,
    windowedLayers: layers / 2,
    attentionSinks: true,
    experts: { count: experts, topK: 4, ffnHiddenSize: 2880 },
  };
}

/**
 * The model with this name, which may be one of Hugging Face's with its organization, such as `meta-llama/Llama-3.1-70B-Instruct`: tuned models have the
 * sizes of their base. Throws INVALID_REQUEST with the nearest names if it is unknown.
 */
export function modelOf(name: string): ModelPreset {
  return namedOf(MODEL_PRESETS, isHubName(name) ? sizesName(name) : name, 'model', '/model');
}

/** Whether a name is one of the Hugging Face Hub: an organization and a model. */
export function isHubName(name: string): boolean {
  return /^[A-Za-z0-9][\w-]*\/[A-Za-z0-9][\w.-]*$/.test(name) && !/\.(json|ya?ml)$/i.test(name);
}

function sizesName(hubName: string): string {
  const model = hubName.slice(hubName.indexOf('/') + 1);
  return model
    .replace(/^Meta-/, '')
    .replace(/-hf$/, '')
    .replace(/-(Instruct|Base|Chat|it)$/i, '');
}
