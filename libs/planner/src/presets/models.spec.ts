import { parametersOf } from '../memory/parameters.ts';
import { MODEL_PRESETS, modelOf } from './models.ts';

/** Parameters of a preset in billions, multi-token prediction left out. */
function billions(name: string): { readonly total: number; readonly active: number } {
  const { total, active } = parametersOf(modelOf(name).model);
  return { total: total / 1e9, active: active / 1e9 };
}

/** Half of the last digit that is printed; MaxText names its models by the nearest power of two. */
function toleranceOf(name: string, published: number): number {
  if (name.startsWith('maxtext')) return 0.03 * published;
  const [, decimals = ''] = String(published).split('.');
  return 0.5 * 10 ** -decimals.length;
}

describe('model presets have the published number of parameters', () => {
  // Totals as the papers and model cards print them.
  it.each([
    ['gpt-1.7b', 1.7],
    ['gpt-3.6b', 3.6],
    ['gpt-7.5b', 7.5],
    ['gpt-18b', 18.4],
    ['gpt-22b', 22],
    ['gpt-39b', 39.1],
    ['gpt-76b', 76.1],
    ['gpt-146b', 145.6],
    ['gpt3-175b', 174.6],
    ['gpt-310b', 310.1],
    ['gpt-530b', 529.6],
    ['megatron-1t', 1008],
    ['gpt-neox-20b', 20.55],
    ['opt-175b', 175],
    ['bloom-176b', 176.25],
    ['llama-2-7b', 6.738],
    ['llama-2-13b', 13.016],
    ['llama-2-70b', 68.977],
    ['llama-3.1-8b', 8.03],
    ['llama-3.1-70b', 70.554],
    ['llama-3.1-405b', 405.85],
    ['qwen3-8b', 8.19],
    ['qwen3-32b', 32.76],
    ['nemotron-3-8b', 8.5],
    ['nemotron-4-15b', 15.6],
    ['nemotron-4-340b', 341],
    ['mamba2-hybrid-8b', 8.7],
    ['nemotron-h-8b', 8.1],
    ['nemotron-h-56b', 56.3],
    ['maxtext-22b', 22],
    ['maxtext-52b', 52],
    ['maxtext-16b', 16],
    ['maxtext-32b', 32],
    ['maxtext-64b', 64],
    ['maxtext-128b', 128],
    ['maxtext-512b', 512],
    ['maxtext-1024b', 1024],
  ])('%s has %d billion', (name, published) => {
    expect(Math.abs(billions(name).total - published)).toBeLessThanOrEqual(toleranceOf(name, published));
  });

  // Approximated ones, without what their shape cannot say (output gates, indexers).
  it.each([
    ['qwen3.5-27b', 27],
    ['qwen3.5-35b-a3b', 35],
  ])('%s has about %d billion', (name, published) => {
    expect(Math.abs(billions(name).total / published - 1)).toBeLessThan(0.03);
  });

  it.each([
    ['mixtral-8x7b', { total: 46.7, active: 12.9 }],
    ['mixtral-8x22b', { total: 140.6, active: 39.1 }],
    ['deepseek-v2-lite', { total: 15.7, active: 2.66 }],
    ['deepseek-v2', { total: 235.7, active: 21.4 }],
    ['deepseek-v3', { total: 671, active: 37.5 }],
    ['glm-5', { total: 744, active: 40 }],
    ['moonlight-16b-a3b', { total: 15.96, active: 2.9 }],
    ['kimi-k2', { total: 1027, active: 32.9 }],
    ['qwen2-57b-a14b', { total: 57.4, active: 14.2 }],
    ['qwen3-30b-a3b', { total: 30.5, active: 3.3 }],
    ['qwen3-235b-a22b', { total: 235.1, active: 22.2 }],
    ['gpt-oss-20b', { total: 20.9, active: 4.19 }],
    ['gpt-oss-120b', { total: 116.8, active: 5.7 }],
    ['nemotron-3-nano', { total: 31.6, active: 3.6 }],
    ['nemotron-3-super', { total: 120.6, active: 12.7 }],
    ['nemotron-3-ultra', { total: 550, active: 55 }],
  ])('%s has %j billion', (name, published) => {
    const { total, active } = billions(name);
    expect(Math.abs(total / published.total - 1)).toBeLessThan(0.01);
    expect(Math.abs(active / published.active - 1)).toBeLessThan(0.04);
  });
});

describe('modelOf', () => {
  it.each([
    ['llama-3.1-70b', 'llama-3.1-70b'],
    ['Llama 3.1 70B', 'llama-3.1-70b'],
    ['Llama-3-70B', 'llama-3.1-70b'],
    ['GPT-3-175B', 'gpt3-175b'],
    ['Qwen3-30B-A3B', 'qwen3-30b-a3b'],
    ['Nemotron-3-Super-120B-A12B', 'nemotron-3-super-120b-a12b'],
    ['nemotron-3-super-120b-a12b', 'nemotron-3-super-120b-a12b'],
    ['Moonlight-16B-A3B', 'moonlight-16b-a3b'],
    ['DeepSeek-V3', 'deepseek-v3'],
    ['MaxText-1024B', 'maxtext-1024b'],
    ['meta-llama/Llama-3.1-70B', 'llama-3.1-70b'],
    ['meta-llama/Meta-Llama-3-8B-Instruct', 'llama-3.1-8b'],
    ['meta-llama/Llama-3.3-70B-Instruct', 'llama-3.1-70b'],
    ['meta-llama/Llama-2-7b-chat-hf', 'llama-2-7b'],
    ['Qwen/Qwen3-8B', 'qwen3-8b'],
    ['Qwen/Qwen3-8B-Base', 'qwen3-8b'],
    ['deepseek-ai/DeepSeek-V3', 'deepseek-v3'],
  ])('%s is %s', (spelling, name) => {
    expect(modelOf(spelling).name).toBe(name);
  });

  it('answers a misspelt name with the nearest ones', () => {
    expect(() => modelOf('lama-3.1-70b')).toThrow(/model "lama-3.1-70b" is not known; nearest: llama-3.1-70b/);
  });

  it('no spelling means two models', () => {
    const spellings = MODEL_PRESETS.flatMap(({ name, aliases }) => [
      ...new Set([name, ...aliases].map((each) => each.toLowerCase().replace(/[^a-z0-9]/g, ''))),
    ]);
    expect(spellings.filter((spelling, index) => spellings.indexOf(spelling) !== index)).toEqual([]);
  });

  it.each(MODEL_PRESETS.map((preset) => [preset.name, preset.model] as const))(
    '%s names one letter per layer where it has a pattern',
    (_, model) => {
      expect(model.layerPattern?.length ?? model.layers).toBe(model.layers);
    },
  );
});
