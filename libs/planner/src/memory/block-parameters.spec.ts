import type { ModelShape } from '@coxswain/layout';
import { SCHEDULES } from '../facts.ts';
import { MODEL_PRESETS, modelOf } from '../presets/index.ts';
import { rankOfStage } from '../stages.ts';
import { aCandidate } from '../testing/candidates.ts';
import { aModel } from '../testing/runs.ts';
import { usualChunks } from '../testing/schedule-inputs.ts';
import { denseShareOf, expertShareOf, layerKindsOf, parametersOf, type LayerParameters } from './parameters.ts';
import { pipelineLoadOf } from './pipeline-load.ts';

const EXPERTS = { count: 6, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };

function firstLayerOf(model: ModelShape): LayerParameters {
  const [layer] = parametersOf(model).perKind;
  if (layer === undefined) throw new Error('a model has layers');
  return layer;
}

// Hidden size 16, four heads of 4, two of keys and values, an MLP of 32: products are written in that order.
describe('the parameters of one layer by hand', () => {
  it.each<[string, Partial<ModelShape>, Partial<LayerParameters>]>([
    ['grouped queries: Q of all heads, K and V of two', {}, { attention: 16 * 4 * 4 + 2 * 16 * 2 * 4 + 4 * 4 * 16 }],
    ['a gated MLP has three matrices', {}, { mlp: 3 * 16 * 32 }],
    ['a plain one has two', { gatedMlp: false }, { mlp: 2 * 16 * 32 }],
    ['RMSNorm is one vector in front of each block', {}, { norms: 2 * 16 }],
    ['LayerNorm is two', { rmsNorm: false }, { norms: 2 * 2 * 16 }],
    [
      'biases stand behind every matrix',
      { linearBias: true },
      { attention: 768 + (4 * 4 + 2 * 2 * 4) + 16, mlp: 3 * 16 * 32 + 2 * 32 + 16 },
    ],
    [
      'experts are whole MLPs, and the router one row for each',
      { experts: EXPERTS },
      { mlp: 0, routedExperts: 6 * (3 * 16 * 8), router: 6 * 16 },
    ],
    [
      'a shared expert is one more',
      { experts: { ...EXPERTS, sharedFfnHiddenSize: 24 } },
      { sharedExperts: 3 * 16 * 24 },
    ],
    [
      'latent experts work on the narrower width that a matrix leads to and back from',
      { experts: { ...EXPERTS, latentSize: 4 } },
      { routedExperts: 6 * (3 * 4 * 8), router: 6 * 16 + 2 * 16 * 4 },
    ],
    [
      'latent attention: down and up again for queries, and for keys and values (2412.19437, section 2.1.1)',
      { latentAttention: { queryRank: 6, keyValueRank: 5, nopeHeadDim: 3, ropeHeadDim: 2, valueHeadDim: 4 } },
      { attention: 16 * 6 + 6 + 6 * 4 * (3 + 2) + (16 * (5 + 2) + 5 + 5 * 4 * (3 + 4)) + 4 * 4 * 16 },
    ],
    [
      'queries that are not compressed are one matrix',
      { latentAttention: { queryRank: 0, keyValueRank: 5, nopeHeadDim: 3, ropeHeadDim: 2, valueHeadDim: 4 } },
      { attention: 16 * 4 * (3 + 2) + (16 * (5 + 2) + 5 + 5 * 4 * (3 + 4)) + 4 * 4 * 16 },
    ],
    [
      'Mamba-2: one projection in, a convolution, three scalars per head, a norm, one out (2405.21060)',
      {
        layerPattern: 'MMMMMMMM',
        stateSpace: { stateSize: 8, heads: 4, headDim: 8, groups: 2, convKernel: 4 },
      },
      {
        mamba: 16 * (2 * 32 + 2 * 2 * 8 + 4) + (32 + 2 * 2 * 8) * (4 + 1) + 3 * 4 + 32 + 32 * 16,
        attention: 0,
        mlp: 0,
      },
    ],
  ])('%s', (_, sizes, want) => {
    expect(firstLayerOf(aModel(sizes))).toMatchObject(want);
  });

  it('of a token pass the chosen experts only', () => {
    const layer = firstLayerOf(aModel({ experts: EXPERTS }));
    expect(layer.total - layer.active).toBe((6 - 2) * (3 * 16 * 8));
  });

  it('one more prediction module is a layer, a projection of 2h to h and three norms', () => {
    const { mtpLayer, total } = parametersOf(aModel({ mtpLayers: 1 }));
    expect(mtpLayer.total).toBe(firstLayerOf(aModel()).total + 2 * 16 * 16 + 3 * 16);
    expect(total).toBe(parametersOf(aModel()).total);
  });

  it('a hybrid predicts more tokens with attention, whatever its last layer is', () => {
    const hybrid = aModel({ layerPattern: 'A-A-A-A-', mtpLayers: 1 });
    const { attention, mlp } = parametersOf(hybrid).mtpLayer;
    expect([attention, mlp]).toEqual([768, 3 * 16 * 32]);
  });
});

describe('the parameters of a model by hand', () => {
  const layer = 768 + 3 * 16 * 32 + 2 * 16;

  it.each<[string, Partial<ModelShape>, number]>([
    ['layers, both vocabulary ends and the final norm', {}, 8 * layer + 2 * 64 * 16 + 16],
    ['tied ends are one', { tiedEmbeddings: true }, 8 * layer + 64 * 16 + 16],
    ['learned positions are rows of the embedding', { learnedPositions: 10 }, 8 * layer + 2 * 64 * 16 + 10 * 16 + 16],
    ['LayerNorm at the end too', { rmsNorm: false }, 8 * (layer + 2 * 16) + 2 * 64 * 16 + 2 * 16],
    [
      'leading layers without experts',
      { experts: { ...EXPERTS, denseLayers: 3 } },
      3 * layer + 5 * (768 + 6 * 3 * 16 * 8 + 6 * 16 + 2 * 16) + 2 * 64 * 16 + 16,
    ],
  ])('%s', (_, sizes, want) => {
    expect(parametersOf(aModel(sizes)).total).toBe(want);
  });

  it.each(['gpt-1.7b', 'gpt-18b', 'gpt-39b', 'gpt-310b', 'megatron-1t'])(
    '%s: 12 l h^2 (1 + 13 / 12 h + (V + s) / 12 l h) (2104.04473, equation 2)',
    (name) => {
      const { model } = modelOf(name);
      const { layers: l, hiddenSize: h, vocabularySize: V, learnedPositions: s } = model;
      const published = 12 * l * h * h * (1 + 13 / (12 * h) + (V + s) / (12 * l * h));
      expect(parametersOf(model).total).toBe(Math.round(published) + 2 * h); // the final norm, which the equation leaves out
    },
  );
});

describe('layerKindsOf', () => {
  const written = (model: ModelShape) => layerKindsOf(model).map(({ mixer, feedForward }) => `${mixer}+${feedForward}`);

  it.each<[string, Partial<ModelShape>, readonly string[]]>([
    ['every layer is attention and MLP', { layers: 2 }, ['attention+mlp', 'attention+mlp']],
    [
      'dense layers stand before those with experts',
      { layers: 3, experts: { ...EXPERTS, denseLayers: 1 } },
      ['attention+mlp', 'attention+experts', 'attention+experts'],
    ],
    [
      'a letter names one block',
      { layers: 6, layerPattern: 'A*LME-' },
      ['attention+none', 'attention+none', 'linear-attention+none', 'mamba+none', 'none+experts', 'none+mlp'],
    ],
  ])('%s', (_, sizes, want) => {
    expect(written(aModel(sizes))).toEqual(want);
  });

  it('refuses a letter that stands for nothing and lists those that do', () => {
    expect(() => layerKindsOf(aModel({ layers: 1, layerPattern: 'X' }))).toThrow(
      "layerPattern: 'X' is none of A * L M E -",
    );
  });
});

const every = MODEL_PRESETS.map(({ name, model }) => [name, model] as const);

describe('no parameter is lost', () => {
  it.each(every)(
    '%s: shares of all tensor and expert ranks are the layer, but for what each tensor rank holds whole',
    (_, model) => {
      const split = { tensor: 4, expert: 2, expertTensor: 2 };
      for (const layer of parametersOf(model).perKind) {
        const held = 4 * denseShareOf(layer, split) + 2 * 2 * expertShareOf(layer, split);
        expect(held - 3 * layer.replicated).toBeCloseTo(layer.total, 0);
      }
    },
  );

  it.each(every)('%s: layers of all ranks of a pipeline are those of the model, whatever the schedule', (_, model) => {
    const { kindOfLayer, kinds } = parametersOf(model);
    const ofModel = kinds.map((_kind, kind) => kindOfLayer.filter((one) => one === kind).length);
    for (const schedule of SCHEDULES) {
      const candidate = aCandidate({ schedule, pipeline: 4, chunks: usualChunks(schedule) });
      const { ranks } = pipelineLoadOf(model, candidate, 16);
      expect(kinds.map((_kind, kind) => ranks.reduce((sum, rank) => sum + (rank.layers[kind] ?? 0), 0))).toEqual(
        ofModel,
      );
      expect(ranks.filter(({ embedding }) => embedding)).toHaveLength(1);
      expect(ranks.findIndex(({ loss }) => loss)).toBe(rankOfStage(candidate, 4 * candidate.chunks - 1));
      expect(ranks.reduce((sum, { mtpLayers }) => sum + mtpLayers, 0)).toBe(model.mtpLayers);
    }
  });
});
