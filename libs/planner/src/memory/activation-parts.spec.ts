import type { ModelShape } from '@coxswain/layout';
import { RECOMPUTED_MODULES } from '@coxswain/layout';
import type { RecomputeModule } from '../facts.ts';
import { aModel, aRun } from '../testing/runs.ts';
import { activationFactsOf, layerActivationsOf, type ActivationFacts } from './activations.ts';
import type { LayerKind } from './parameters.ts';

const DENSE: LayerKind = { mixer: 'attention', feedForward: 'mlp' };
const EXPERT_LAYER: LayerKind = { mixer: 'attention', feedForward: 'experts' };
const EXPERTS = { count: 8, topK: 2, ffnHiddenSize: 12, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };
const LATENT = { queryRank: 6, keyValueRank: 5, nopeHeadDim: 3, ropeHeadDim: 2, valueHeadDim: 4 };

/** One token, so that bytes are bytes per token. */
function facts(overrides: Partial<ActivationFacts> = {}): ActivationFacts {
  return {
    tokens: 1,
    sequenceLength: 8,
    tensor: 1,
    expertTensor: 1,
    sequenceParallel: false,
    flashAttention: true,
    recompute: 'none',
    recomputeModules: [],
    expertLoad: 1,
    elementBytes: 2,
    inputBytes: 2,
    ...overrides,
  };
}

function keptBy(sizes: Partial<ModelShape>, kind: LayerKind, overrides: Partial<ActivationFacts> = {}): number {
  return layerActivationsOf(aModel(sizes), kind, facts(overrides)).kept;
}

/** What recomputing one module saves. */
function savedBy(
  module: RecomputeModule,
  sizes: Partial<ModelShape>,
  kind: LayerKind,
  change: Partial<ActivationFacts> = {},
): number {
  return (
    keptBy(sizes, kind, change) - keptBy(sizes, kind, { ...change, recompute: 'selective', recomputeModules: [module] })
  );
}

// Hidden size 16, four heads of 4, two of keys and values, an MLP of 32; two bytes per element.
describe('what a module keeps of one token, by hand', () => {
  it.each<[RecomputeModule, string, Partial<ModelShape>, LayerKind, Partial<ActivationFacts>, number]>([
    ['core_attn', 'a sum of four bytes per head with a flash kernel', {}, DENSE, {}, 4 * 4],
    ['core_attn', 'scores of eight tokens per head without', {}, DENSE, { flashAttention: false }, 2 * 8 * 4],
    [
      'core_attn',
      'and with dropout softmax, mask and output',
      { dropout: true },
      DENSE,
      { flashAttention: false },
      (2 + 2 + 1) * 8 * 4,
    ],
    ['layernorm', 'two outputs', {}, DENSE, {}, 2 * 2 * 16],
    ['layernorm', 'at one byte in fp8', {}, DENSE, { inputBytes: 1 }, 2 * 1 * 16],
    ['layernorm', 'split by sequence parallelism', {}, DENSE, { tensor: 4, sequenceParallel: true }, (2 * 2 * 16) / 4],
    ['mlp', 'gate, up and their product', {}, DENSE, {}, 2 * 3 * 32],
    ['mlp', 'two of them without a gate', { gatedMlp: false }, DENSE, {}, 2 * 2 * 32],
    ['mlp', 'split by tensor parallelism', {}, DENSE, { tensor: 4 }, (2 * 3 * 32) / 4],
    [
      'mla_up_proj',
      'queries and keys of 5, their part of 3, values of 4',
      { latentAttention: LATENT },
      DENSE,
      {},
      2 * 4 * (2 * 5 + 3 + 4),
    ],
    ['moe_act', 'the product of two copies', { experts: EXPERTS }, EXPERT_LAYER, {}, 2 * 2 * 12],
    [
      'moe_act',
      'and of a quarter more where capacity is 1.25',
      { experts: EXPERTS },
      EXPERT_LAYER,
      { expertLoad: 1.25 },
      1.25 * 2 * 2 * 12,
    ],
    [
      'moe',
      'copies, gate and up, product, and two fp32 rows of the router',
      { experts: EXPERTS },
      EXPERT_LAYER,
      {},
      2 * 2 * 16 + 2 * 2 * 3 * 12 + 4 * 2 * 8,
    ],
    [
      'moe',
      'copies of the latent width',
      { experts: { ...EXPERTS, latentSize: 4 } },
      EXPERT_LAYER,
      {},
      2 * 2 * 4 + 2 * 2 * 3 * 12 + 4 * 2 * 8,
    ],
    [
      'shared_experts',
      'an MLP of its own',
      { experts: { ...EXPERTS, sharedFfnHiddenSize: 20 } },
      EXPERT_LAYER,
      {},
      2 * 3 * 20,
    ],
  ])('%s: %s', (...[module, , sizes, kind, change, bytes]) => {
    expect(savedBy(module, sizes, kind, change)).toBeCloseTo(bytes, 9);
  });

  it.each<[string, Partial<ModelShape>, LayerKind, Partial<ActivationFacts>, number]>([
    [
      'dense: inputs and outputs of two norms, queries, keys, values and their result, sums, MLP',
      {},
      DENSE,
      {},
      2 * 2 * 16 + 2 * 2 * 16 + 2 * 2 * (4 + 2) * 4 + 4 * 4 + 2 * 3 * 32,
    ],
    ['a dropout mask per block', { dropout: true }, DENSE, {}, 64 + 64 + 96 + 16 + 192 + 2 * 16],
    ['attention alone', {}, { mixer: 'attention', feedForward: 'none' }, {}, 32 + 32 + 96 + 16],
    ['an MLP alone', {}, { mixer: 'none', feedForward: 'mlp' }, {}, 32 + 32 + 192],
    [
      'fp8 keeps the input of the projection beside the result of attention',
      {},
      DENSE,
      { inputBytes: 1 },
      64 + 32 + (96 + 16) + 16 + (2 * 2 + 1) * 32,
    ],
    [
      'latent attention: both compressed widths twice, the rotary key, values, and what projects up',
      { latentAttention: LATENT },
      DENSE,
      {},
      64 + 64 + (2 * 2 * (6 + 5) + 2 * 2 + 2 * 4 * 4) + 136 + 16 + 192,
    ],
    [
      'in fp32 twice as much, but for the sums',
      {},
      DENSE,
      { elementBytes: 4, inputBytes: 4 },
      2 * (64 + 64 + 96 + 192) + 16,
    ],
    ['four tensor ranks split all but the norms', {}, DENSE, { tensor: 4 }, 64 + 64 + (96 + 16 + 192) / 4],
    [
      'with sequence parallelism those too',
      {},
      DENSE,
      { tensor: 4, sequenceParallel: true },
      (64 + 64 + 96 + 16 + 192) / 4,
    ],
  ])('a whole layer: %s', (...[, sizes, kind, change, bytes]) => {
    expect(keptBy(sizes, kind, change)).toBeCloseTo(bytes, 9);
  });
});

describe('any set of modules', () => {
  const sizes = { experts: { ...EXPERTS, sharedFfnHiddenSize: 20 }, latentAttention: LATENT };

  it.each(RECOMPUTED_MODULES.map((module) => [module]))('what %s drops is computed again', (module) => {
    const model = aModel(sizes);
    for (const kind of [DENSE, EXPERT_LAYER]) {
      const all = layerActivationsOf(model, kind, facts()).kept;
      const { kept, transient } = layerActivationsOf(
        model,
        kind,
        facts({ recompute: 'selective', recomputeModules: [module] }),
      );
      expect(kept + transient).toBeCloseTo(all, 9);
    }
  });

  it('of all modules leaves inputs of norms and what attention itself reads', () => {
    const modules = { recompute: 'selective', recomputeModules: RECOMPUTED_MODULES } as const;
    expect(keptBy({}, DENSE, modules)).toBe(2 * 2 * 16 + 2 * 2 * (4 + 2) * 4);
  });

  it('is looked at in selective mode only', () => {
    expect(keptBy({}, DENSE, { recomputeModules: ['mlp'] })).toBe(keptBy({}, DENSE));
  });

  it('without a flash kernel the gradients of scores come on top, computed again or not', () => {
    const scores = 2 * 8 * 4;
    const plain = layerActivationsOf(aModel(), DENSE, facts({ flashAttention: false }));
    expect(plain.transient).toBe(scores);
    const again = facts({ flashAttention: false, recompute: 'selective', recomputeModules: ['core_attn'] });
    expect(layerActivationsOf(aModel(), DENSE, again).transient).toBe(2 * scores);
  });
});

describe('activationFactsOf', () => {
  it.each<[string, Parameters<typeof aRun>[0], Partial<ActivationFacts>]>([
    [
      'tokens of one micro-batch on a context rank',
      { candidate: { microBatchSize: 3, context: 2 }, sequenceLength: 8 },
      { tokens: (3 * 8) / 2, sequenceLength: 8 },
    ],
    ['dropless experts are taken to be evenly loaded', {}, { expertLoad: 1 }],
    ['a capacity is what experts take', { candidate: { expertCapacity: 1.5 } }, { expertLoad: 1.5 }],
    ['bf16', {}, { elementBytes: 2, inputBytes: 2 }],
    ['fp32', { precision: 'fp32' }, { elementBytes: 4, inputBytes: 4 }],
    ['fp8 inputs take a byte', { precision: 'fp8' }, { elementBytes: 2, inputBytes: 1 }],
    ['mxfp8 a scale per 32 of them', { precision: 'mxfp8' }, { elementBytes: 2, inputBytes: 1 + 1 / 32 }],
    ['nvfp4 half a byte and a scale per 16', { precision: 'nvfp4' }, { elementBytes: 2, inputBytes: 1 / 2 + 1 / 16 }],
  ])('%s', (_, run, want) => {
    expect(activationFactsOf(aRun(run))).toMatchObject(want);
  });
});
