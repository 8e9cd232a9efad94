import { MODEL_PRESETS, modelOf } from '../presets/index.ts';
import { denseShareOf, expertShareOf, parametersOf } from './parameters.ts';

const BILLION = 1e9;

/** Published by the owner of each model: its model card or config, in billions. */
const PUBLISHED: readonly (readonly [model: string, total: number, active: number])[] = [
  ['megatron-1t', 1008.0, 1008.0],
  ['gpt3-175b', 174.6, 174.6],
  ['gpt-530b', 529.6, 529.6],
  ['bloom-176b', 176.2, 176.2],
  ['llama-2-7b', 6.74, 6.74],
  ['llama-3.1-8b', 8.03, 8.03],
  ['llama-3.1-70b', 70.6, 70.6],
  ['llama-3.1-405b', 405.9, 405.9],
  ['mixtral-8x7b', 46.7, 12.9],
  ['mixtral-8x22b', 140.6, 39.1],
  ['deepseek-v3', 671.0, 37.6],
  ['deepseek-v2', 235.7, 21.4],
  ['qwen3-30b-a3b', 30.5, 3.3],
  ['qwen3-235b-a22b', 235.1, 22.2],
  ['nemotron-3-nano-30b-a3b', 31.6, 3.6],
  ['gpt-oss-120b', 116.8, 5.7],
];

describe('parametersOf', () => {
  it.each(PUBLISHED)('%s has %d billion parameters, %d billion of them active', (name, total, active) => {
    const parameters = parametersOf(modelOf(name).model);
    expect(Math.abs(parameters.total / BILLION / total - 1)).toBeLessThan(0.002);
    expect(Math.abs(parameters.active / BILLION / active - 1)).toBeLessThan(0.02);
  });

  it('counts a vocabulary layer of Gemma’s vocabulary as 5.21 transformer layers', () => {
    const model = { ...modelOf('llama-2-7b').model, ffnHiddenSize: 16384, gatedMlp: false, vocabularySize: 256_000 };
    const { perKind, head } = parametersOf(model);
    expect(head / (perKind[0]?.tensorSharded ?? 1)).toBeCloseTo(5.21, 2);
  });

  it.each(MODEL_PRESETS.map(({ name, model }) => [name, model] as const))(
    '%s: the parts of every layer sum to its total',
    (_, model) => {
      for (const layer of parametersOf(model).perKind) {
        const parts = layer.attention + layer.mamba + layer.mlp + layer.routedExperts + layer.sharedExperts;
        expect(parts + layer.router + layer.norms).toBe(layer.total);
        expect(layer.tensorSharded + layer.replicated + layer.routedExperts).toBe(layer.total);
      }
    },
  );

  it('splits dense matrices over tensor ranks and experts over expert times expert-tensor ranks', () => {
    const [layer] = parametersOf(modelOf('mixtral-8x7b').model).perKind;
    if (layer === undefined) throw new Error('Mixtral has layers');
    expect(denseShareOf(layer, { tensor: 4 })).toBe(layer.tensorSharded / 4 + layer.replicated);
    expect(expertShareOf(layer, { expert: 8, expertTensor: 2 })).toBe(layer.routedExperts / 16);
  });

  it('refuses a pattern that does not name every layer', () => {
    const model = { ...modelOf('llama-3.1-8b').model, layerPattern: 'A-' };
    expect(() => parametersOf(model)).toThrow('layerPattern has 2 letters for 32 layers');
  });

  it.each([
    ['M', 'stateSpace is absent'],
    ['E', 'experts is absent'],
  ])('refuses layers %s without their sizes', (letter, message) => {
    const model = { ...modelOf('llama-3.1-8b').model, layerPattern: letter.repeat(32) };
    expect(() => parametersOf(model)).toThrow(message);
  });
});
