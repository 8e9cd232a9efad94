/** What blocks cost on machines that do one thing per picosecond, so that picoseconds are the FLOPs or bytes that one counts by hand. */
import type { ModelShape } from '@coxswain/layout';
import fc from 'fast-check';
import type { GpuFacts, CandidateLayout, RunFacts } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { PARTS, type BlockCost, type Part } from './block-cost.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName, type TimeConstants } from './constants.ts';
import { blockCostsOf, type BlockCosts } from './stage-cost.ts';

/** Nothing slows anything down, and nothing but the counted work takes time. */
const PLAIN: TimeConstants = {
  ...(Object.fromEntries(
    TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].unit === 'ratio' ? 1 : 0]),
  ) as Record<TimeConstantName, number>),
  gemmRidge: 0,
  flashSoftmax: 0,
};
const FAST = 1e30;
const TERA = 1e12;
const machine = (speeds: Partial<GpuFacts>): GpuFacts => ({
  ...gpuOf('h100'),
  bf16Tflops: FAST,
  fp8Tflops: 0,
  fp4Tflops: 0,
  matmulCeiling: 1,
  memoryTbPerS: FAST,
  scaleUpGbPerS: FAST,
  ...speeds,
});
/** By what takes one picosecond: a FLOP (fp8 is twice as fast), a byte of memory, or a byte between GPUs of a node. */
const COUNTING = {
  flops: machine({ bf16Tflops: 1, fp8Tflops: 2 }),
  bytes: machine({ memoryTbPerS: 1 }),
  traffic: machine({ scaleUpGbPerS: 1000 }),
};

interface Changes extends Partial<Omit<RunFacts, 'model' | 'candidate'>> {
  readonly model?: Partial<ModelShape>;
  readonly candidate?: Partial<CandidateLayout>;
  readonly constants?: Partial<TimeConstants>;
}

/** One sample of 8 tokens through `aModel`: h 16, 4 heads of 4, 2 of keys and values, MLP 32, vocabulary 64. */
function costs(gpu: GpuFacts, { model = {}, constants, candidate = {}, ...facts }: Changes = {}): BlockCosts {
  const cluster = aCluster(8, { gpu });
  return blockCostsOf(aRun({ model: aModel(model), cluster, candidate, ...facts }), { ...PLAIN, ...constants });
}

const partOf = (cost: BlockCost, part: Part): number => (cost.partsS[PARTS.indexOf(part)] ?? 0) * TERA;
const GPT = { keyValueHeads: 4, gatedMlp: false, ffnHiddenSize: 4 * 16 };
const MOE = { experts: { count: 4, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 } };
const SHARED = { experts: { ...MOE.experts, sharedFfnHiddenSize: 24 } };
const LATENT = { latentAttention: { queryRank: 8, keyValueRank: 4, nopeHeadDim: 4, ropeHeadDim: 2, valueHeadDim: 4 } };
const MAMBA = {
  layerPattern: 'M-M-M-M-',
  stateSpace: { stateSize: 4, heads: 4, headDim: 8, groups: 2, convKernel: 4 },
};

describe('the FLOPs of a GPT', () => {
  /** Of all layers and the loss, all passes. */
  const total = (candidate: Partial<CandidateLayout>, batch: number): number => {
    const { attention, denseMlp, loss } = costs(COUNTING.flops, {
      model: GPT,
      candidate: { ...candidate, microBatchSize: batch },
      flashAttention: false,
    });
    const sum = (cost: BlockCost): number => PARTS.reduce((flops, part) => flops + partOf(cost, part), 0);
    return 8 * (sum(attention) + sum(denseMlp)) + sum(loss);
  };
  const [s, l, h, V] = [8, 8, 16, 64];

  it.each([1, 3])(
    'are 72 B s l h^2 (1 + s / 6h + V / 12lh) without recomputation (2205.05198, appendix A), B = %i',
    (B) => {
      expect(total({}, B)).toBeCloseTo(72 * B * s * l * h * h * (1 + s / (6 * h) + V / (12 * l * h)), 3);
    },
  );

  it.each([1, 3])(
    'are 96 B s l h^2 (1 + s / 6h + V / 16lh) with all layers recomputed (2104.04473, equation 3), B = %i',
    (B) => {
      const want = 96 * B * s * l * h * h * (1 + s / (6 * h) + V / (16 * l * h));
      expect(total({ recompute: 'full' }, B)).toBeCloseTo(want, 3);
    },
  );
});

type Row = readonly [
  sentence: string,
  counting: keyof typeof COUNTING,
  block: keyof BlockCosts,
  part: Part,
  changes: Changes,
  want: number,
];

/** FLOPs of matrix products count three times: forward, gradient of the input and of the weights. */
const FLOPS: readonly Row[] = [
  [
    'projects to 4 heads and 2 of keys and values, and back',
    'flops',
    'attention',
    'matrixProducts',
    {},
    3 * 2 * 8 * 16 * (16 + 2 * 8 + 16),
  ],
  [
    'gives each of 4 tensor ranks one head of queries, and one of keys and values that two of them share',
    'flops',
    'attention',
    'matrixProducts',
    { candidate: { tensor: 4 } },
    3 * 2 * 8 * 16 * (4 + 2 * 4 + 4),
  ],
  [
    'projects queries, keys and values down and up again with latent attention',
    'flops',
    'attention',
    'matrixProducts',
    { model: LATENT },
    3 * 2 * 8 * (16 * (8 + 4 + 2) + 8 * 4 * (4 + 2) + 4 * 4 * (4 + 4) + 4 * 4 * 16),
  ],
  [
    'meets half the keys under a causal mask; backward five products for two',
    'flops',
    'attention',
    'attention',
    {},
    (1 + 5 / 2) * 2 * 8 * (8 / 2) * 4 * (4 + 4),
  ],
  [
    'meets 3 keys on average in a window of 4 of 8',
    'flops',
    'attention',
    'attention',
    { model: { attentionWindow: 4, windowedLayers: 8 } },
    (1 + 5 / 2) * 2 * 8 * (4 - 4 / 4) * 4 * (4 + 4),
  ],
  [
    'meets a mean of 3.5 keys where half of the layers have the window',
    'flops',
    'attention',
    'attention',
    { model: { attentionWindow: 4, windowedLayers: 4 } },
    (1 + 5 / 2) * 2 * 8 * 3.5 * 4 * (4 + 4),
  ],
  [
    'takes five times as long with attention sinks, inside a window too',
    'flops',
    'attention',
    'attention',
    { model: { attentionWindow: 4, windowedLayers: 8, attentionSinks: true }, constants: { flashSinks: 5 } },
    5 * (1 + 5 / 2) * 2 * 8 * (4 - 4 / 4) * 4 * (4 + 4),
  ],
  [
    'pays nothing for sinks that it has not, whatever its window',
    'flops',
    'attention',
    'attention',
    { model: { attentionWindow: 4, windowedLayers: 8 }, constants: { flashSinks: 5 } },
    (1 + 5 / 2) * 2 * 8 * (4 - 4 / 4) * 4 * (4 + 4),
  ],
  [
    'meets all keys in parts, which mask afterwards',
    'flops',
    'attention',
    'attention',
    { flashAttention: false },
    3 * 2 * 8 * 8 * 4 * (4 + 4),
  ],
  [
    'takes half as long again with kernels written for Ampere on a GPU with fp8',
    'flops',
    'attention',
    'attention',
    { ampereFlashAttention: true, constants: { flashForAmpere: 1.5 } },
    1.5 * (1 + 5 / 2) * 2 * 8 * (8 / 2) * 4 * (4 + 4),
  ],
  ['multiplies three matrices with a gate', 'flops', 'denseMlp', 'matrixProducts', {}, 3 * 2 * 8 * 16 * 32 * 3],
  [
    'multiplies two matrices without one',
    'flops',
    'denseMlp',
    'matrixProducts',
    { model: { gatedMlp: false } },
    3 * 2 * 8 * 16 * 32 * 2,
  ],
  [
    'divides them over tensor ranks',
    'flops',
    'denseMlp',
    'matrixProducts',
    { candidate: { tensor: 2 } },
    (3 * 2 * 8 * 16 * 32 * 3) / 2,
  ],
  [
    'divides tokens over context ranks',
    'flops',
    'denseMlp',
    'matrixProducts',
    { candidate: { context: 4 } },
    (3 * 2 * 8 * 16 * 32 * 3) / 4,
  ],
  [
    'has no weight gradients of frozen matrices but a tenth',
    'flops',
    'denseMlp',
    'matrixProducts',
    { loraRank: 8 },
    (2 + 0.1) * 2 * 8 * 16 * 32 * 3,
  ],
  [
    'is twice as fast in fp8',
    'flops',
    'denseMlp',
    'matrixProducts',
    { precision: 'fp8' },
    (3 * 2 * 8 * 16 * 32 * 3) / 2,
  ],
  [
    'sends every token to 2 of the experts',
    'flops',
    'expertMlp',
    'matrixProducts',
    { model: MOE },
    3 * 2 * (8 * 2) * 16 * 8 * 3,
  ],
  [
    'drops tokens beyond a capacity of one half',
    'flops',
    'expertMlp',
    'matrixProducts',
    { model: MOE, candidate: { expertCapacity: 0.5 } },
    3 * 2 * (8 * 2 * 0.5) * 16 * 8 * 3,
  ],
  [
    'has rows on the busiest rank beyond the mean where nothing is dropped: the likings of the router, and the deviation of a count',
    'flops',
    'expertMlp',
    'matrixProducts',
    { model: MOE, candidate: { data: 2, expert: 2 }, constants: { imbalance: 0.25 } },
    (1 + Math.hypot(0.25, Math.sqrt(1 / 8)) * Math.sqrt((2 * Math.log(2) * 2) / MOE.experts.count)) *
      3 *
      2 *
      (8 * 2) *
      16 *
      8 *
      3,
  ],
  [
    'has few where the router is made to spread them: 2 x 8 x 2 rows over 4 experts, and the deviation of a count',
    'flops',
    'expertMlp',
    'matrixProducts',
    { model: MOE, candidate: { data: 2, expert: 2 }, constants: { imbalance: 9 }, balancedRouting: true },
    (1 + Math.sqrt(1 / 8) * Math.sqrt((2 * Math.log(2) * 2) / MOE.experts.count)) * 3 * 2 * (8 * 2) * 16 * 8 * 3,
  ],
  [
    'has none where every rank holds all experts',
    'flops',
    'expertMlp',
    'matrixProducts',
    { model: MOE, candidate: { data: 2, expert: 1 }, constants: { imbalance: 0.25 } },
    3 * 2 * (8 * 2) * 16 * 8 * 3,
  ],
  [
    'has none with a fixed capacity',
    'flops',
    'expertMlp',
    'matrixProducts',
    { model: MOE, candidate: { expertCapacity: 1 }, constants: { imbalance: 0.25 } },
    3 * 2 * (8 * 2) * 16 * 8 * 3,
  ],
  [
    'takes as long on each of 2 tensor ranks, which share tokens, or experts',
    'flops',
    'expertMlp',
    'matrixProducts',
    { model: MOE, candidate: { tensor: 2, expertTensor: 2 } },
    (3 * 2 * (8 * 2) * 16 * 8 * 3) / 2,
  ],
  [
    'shows all tokens to a shared expert of 24',
    'flops',
    'expertMlp',
    'matrixProducts',
    { model: SHARED },
    3 * 2 * 8 * 16 * (2 * 8 + 24) * 3,
  ],
  [
    'projects tokens to a latent width of 4 and back',
    'flops',
    'expertMlp',
    'matrixProducts',
    { model: { experts: { ...MOE.experts, latentSize: 4 } } },
    3 * 2 * 8 * (2 * 4 * 8 * 3 + 2 * 16 * 4),
  ],
  [
    'projects to inner width twice, states twice and a step per head',
    'flops',
    'stateSpace',
    'matrixProducts',
    { model: MAMBA },
    3 * 2 * 8 * 16 * (2 * 32 + 2 * 2 * 4 + 4 + 32),
  ],
  ['multiplies by the whole vocabulary', 'flops', 'loss', 'vocabulary', {}, 6 * 8 * 16 * 64],
  ['divides it over tensor ranks', 'flops', 'loss', 'vocabulary', { candidate: { tensor: 4 } }, (6 * 8 * 16 * 64) / 4],
  [
    'divides it over 2 stages as well where it is sharded over the pipeline',
    'flops',
    'loss',
    'vocabulary',
    { candidate: { pipeline: 2, vocabulary: 'sharded-over-pp' } },
    (6 * 8 * 16 * 64) / 2,
  ],
  ['stays in bf16 beside fp8', 'flops', 'loss', 'vocabulary', { precision: 'fp8' }, 6 * 8 * 16 * 64],
];

describe('the FLOPs of a block', () => {
  it.each(FLOPS)('%s (%s of %s)', (_sentence, ...row) => {
    const [counting, block, part, changes, want] = row;
    expect(partOf(costs(COUNTING[counting], changes)[block], part)).toBeCloseTo(want, 3);
  });
});

describe('the passes of a block', () => {
  it('are alike for matrix products: each pass multiplies as much', () => {
    const { forwardS, backwardInputS, backwardWeightS } = costs(COUNTING.flops).denseMlp;
    const passes = [forwardS, backwardInputS, backwardWeightS].map((seconds) => Math.round(seconds * TERA));
    expect(passes).toEqual([2 * 8 * 16 * 32 * 3, 2 * 8 * 16 * 32 * 3, 2 * 8 * 16 * 32 * 3]);
  });

  it.each<[string, Changes, number]>([
    ['half of what launching a layer takes', {}, 0.5],
    ['a tenth of it in a CUDA graph', { candidate: { cudaGraphs: 'full' }, constants: { graphsFull: 0.1 } }, 0.05],
    [
      'less of it where parts are graphs',
      { candidate: { cudaGraphs: 'partial' }, constants: { graphsPartial: 0.6 } },
      0.3,
    ],
    ['one collective more with tensor ranks', { candidate: { tensor: 2 }, constants: { hostCollectiveS: 0.1 } }, 0.6],
    [
      'two with sequence parallelism',
      { candidate: { tensor: 2, sequenceParallel: true }, constants: { hostCollectiveS: 0.1 } },
      0.7,
    ],
  ])('last as long as the host launches them, where the GPU is faster: %s', (_sentence, changes, want) => {
    const launching = { ...changes, constants: { hostLayerS: 1, ...changes.constants } };
    expect(costs(machine({}), launching).denseMlp.forwardS).toBeCloseTo(want, 9);
  });

  it('launch the forward kernels once more where a block is computed again', () => {
    const constants = { hostLayerS: 1, hostBackward: 1.5 };
    const plain = costs(machine({}), { constants }).denseMlp;
    const recomputed = costs(machine({}), { constants, candidate: { recompute: 'full' } }).denseMlp;
    expect(plain.backwardInputS + plain.backwardWeightS).toBeCloseTo(0.5 * 1.5, 9);
    expect(recomputed.backwardInputS + recomputed.backwardWeightS).toBeCloseTo(0.5 * 1.5 + 0.5, 9);
  });

  it('sum to their parts, whatever the machine and the layout', () => {
    const ways = fc.constantFrom(1, 2, 4);
    const blocks = fc.constantFrom<keyof BlockCosts>('attention', 'expertMlp', 'stateSpace', 'embedding', 'loss');
    const layouts = fc.record({
      tensor: ways,
      context: fc.constantFrom(1, 2),
      expert: ways,
      sequenceParallel: fc.boolean(),
      recompute: fc.constantFrom('none' as const, 'full' as const),
      microBatchSize: ways,
    });
    const constants = Object.fromEntries(
      TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start]),
    ) as Record<TimeConstantName, number>;
    fc.assert(
      fc.property(blocks, layouts, fc.constantFrom(...Object.values(COUNTING)), (block, candidate, gpu) => {
        const cost = costs(gpu, { model: { ...SHARED, layerPattern: '*EME*EME' }, candidate, constants })[block];
        const passesS = cost.forwardS + cost.backwardInputS + cost.backwardWeightS;
        const partsS = cost.partsS.reduce((sum, seconds) => sum + seconds, 0);
        expect(passesS).toBeGreaterThan(0);
        expect(partsS / passesS).toBeCloseTo(1, 9);
      }),
    );
  });
});
