/** What blocks move and compute again on machines that do one thing per picosecond, so that picoseconds are the FLOPs or bytes that one counts by hand. */
import type { ModelShape } from '@coxswain/layout';
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
const MOE = { experts: { count: 4, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 } };
const SHARED = { experts: { ...MOE.experts, sharedFfnHiddenSize: 24 } };
const LATENT = { latentAttention: { queryRank: 8, keyValueRank: 4, nopeHeadDim: 4, ropeHeadDim: 2, valueHeadDim: 4 } };
const MAMBA = {
  layerPattern: 'M-M-M-M-',
  stateSpace: { stateSize: 4, heads: 4, headDim: 8, groups: 2, convKernel: 4 },
};

type Row = readonly [
  sentence: string,
  counting: keyof typeof COUNTING,
  block: keyof BlockCosts,
  part: Part,
  changes: Changes,
  want: number,
];

/** Norm and residual around a block: 10 bytes per element forward, half as many again backward. */
const AROUND = (1 + 3 / 2) * 8 * 16 * 10;
const BYTES: readonly Row[] = [
  [
    'reads and writes queries, keys and values for the rotary embedding, both ways',
    'bytes',
    'attention',
    'memoryBound',
    {},
    2 * 8 * (16 + 2 * 8) * 4 + AROUND,
  ],
  [
    'leaves 12 bytes per element to norm and residual with dropout',
    'bytes',
    'attention',
    'memoryBound',
    { model: { dropout: true } },
    2 * 8 * (16 + 2 * 8) * 4 + AROUND * 1.2,
  ],
  [
    'divides norm and residual with sequence parallelism',
    'bytes',
    'denseMlp',
    'memoryBound',
    { candidate: { tensor: 2, sequenceParallel: true } },
    ((1 + 1.6) * 8 * (2 * 32 + 32) * 2 + AROUND) / 2,
  ],
  [
    'does not divide them without it',
    'bytes',
    'denseMlp',
    'memoryBound',
    { candidate: { tensor: 2 } },
    ((1 + 1.6) * 8 * (2 * 32 + 32) * 2) / 2 + AROUND,
  ],
  [
    'casts input and activation forward, input and gradient backward, in fp8',
    'bytes',
    'denseMlp',
    'memoryBound',
    { precision: 'fp8' },
    (1 + 1.6) * 8 * (2 * 32 + 32) * 2 + AROUND + 8 * (16 + 32) * 4 + 8 * (16 + 2 * 32) * 4,
  ],
  [
    'activates the rows of the experts',
    'bytes',
    'expertMlp',
    'memoryBound',
    { model: MOE },
    (1 + 2.6) * (8 * 2) * (2 * 8 + 8) * 2 + AROUND,
  ],
  [
    'routes: tokens read and copies written, sorted once more where they come, the same back, and 12 bytes per token and expert',
    'bytes',
    'expertMlp',
    'routing',
    { model: MOE },
    2 * (2 * (8 + 16 + 2 * 16) * 16 * 2 + 8 * (4 * 12 + 16 * 2)),
  ],
  [
    'moves channels, keys and queries of a mixer, and 4/128 of a state for each token, once forward and more than twice as often backward',
    'bytes',
    'stateSpace',
    'memoryBound',
    { model: MAMBA },
    8 * ((16 + 42) * 32 + (4 + 10) * 2 * 8 + ((16 + 42) * 32 * 4) / 128) + AROUND,
  ],
  [
    'looks up the embedding, and adds its gradient with twice the bytes',
    'bytes',
    'embedding',
    'vocabulary',
    {},
    3 * 8 * 16 * 6,
  ],
  ['takes the entropy of logits in 12 bytes, both ways', 'bytes', 'loss', 'vocabulary', {}, 2 * 8 * 64 * 12],
  [
    'reads and writes scores in parts in 8 bytes; backward half as many again',
    'bytes',
    'attention',
    'attention',
    { flashAttention: false },
    (1 + 3 / 2) * 4 * 8 * 8 * 8,
  ],
  [
    'takes 2.5 times as long where the fused softmax refuses one head',
    'bytes',
    'attention',
    'attention',
    { flashAttention: false, candidate: { tensor: 4 }, constants: { softmaxFallback: 2.5 } },
    2.5 * (1 + 3 / 2) * 8 * 8 * 8,
  ],
];

/** A ring over n ranks carries (n - 1) / n of the bytes through every link. */
const TRAFFIC: readonly Row[] = [
  [
    'gathers and scatters hidden states of 2 bytes, forward and backward',
    'traffic',
    'denseMlp',
    'tensorTraffic',
    { candidate: { tensor: 4 } },
    (4 * 8 * 16 * 2 * 3) / 4,
  ],
  [
    'leaves a part of it where it is overlapped',
    'traffic',
    'denseMlp',
    'tensorTraffic',
    { candidate: { tensor: 4, overlapTensor: true }, constants: { tensorOverlap: 0.25 } },
    8 * 16 * 2 * 3 * 0.25,
  ],
  [
    'gathers all keys and values of 2 context ranks, and again with their gradients',
    'traffic',
    'attention',
    'contextTraffic',
    { candidate: { context: 2, contextAlgorithm: 'allgather' } },
    (3 * 8 * 2 * (4 + 4) * 2) / 2,
  ],
  [
    'exchanges queries, outputs, keys and values by Ulysses',
    'traffic',
    'attention',
    'contextTraffic',
    { candidate: { context: 2, contextAlgorithm: 'ulysses' } },
    (3 * 2 * 4 * (2 * 16 + 2 * 8) * 2) / 2,
  ],
  [
    'sends 3 of 4 rows to other ranks and back, forward and backward',
    'traffic',
    'expertMlp',
    'expertTraffic',
    { model: MOE, candidate: { data: 4, expert: 4, expertCapacity: 1 } },
    4 * 16 * 16 * 2 * (3 / 4),
  ],
  [
    'sends a token once to a rank with both of its experts by DeepEP',
    'traffic',
    'expertMlp',
    'expertTraffic',
    { model: MOE, candidate: { data: 4, expert: 4, expertCapacity: 1, dispatcher: 'deepep' } },
    4 * 8 * 16 * 2 * 4 * (1 - (3 / 4) ** 2),
  ],
  [
    'and with it, there and back, a weight for each of 4 experts by HybridEP, which also tells 3 others a byte for each of its 8 tokens and 4 experts',
    'traffic',
    'expertMlp',
    'expertTraffic',
    { model: MOE, candidate: { data: 4, expert: 4, expertCapacity: 1, dispatcher: 'hybridep' } },
    2 * 8 * 4 * (1 - (3 / 4) ** 2) * (2 * 16 * 2 + 4 * 4) + 3 * 8 * 4,
  ],
  [
    'gathers and scatters rows where tensor ranks share experts',
    'traffic',
    'expertMlp',
    'expertTraffic',
    { model: MOE, candidate: { tensor: 2, expertTensor: 2 } },
    (4 * 16 * 16 * 2) / 2,
  ],
  [
    'sums looked-up vectors, forward and backward',
    'traffic',
    'embedding',
    'vocabulary',
    { candidate: { tensor: 4 } },
    (2 * 8 * 16 * 2 * 3) / 4,
  ],
  [
    'gathers and scatters at the loss, forward and backward',
    'traffic',
    'loss',
    'vocabulary',
    { candidate: { tensor: 4 } },
    (4 * 8 * 16 * 2 * 3) / 4,
  ],
];

/** What selective recomputation computes again. */
const again = (...recomputeModules: CandidateLayout['recomputeModules']) =>
  ({ recompute: 'selective', recomputeModules }) as const;
const RECOMPUTED: readonly Row[] = [
  [
    'core attention: scores and their sum',
    'flops',
    'attention',
    'recompute',
    { candidate: again('core_attn') },
    2 * 8 * (8 / 2) * 4 * (4 + 4),
  ],
  [
    'the up-projections of latent attention',
    'flops',
    'attention',
    'recompute',
    { model: LATENT, candidate: again('mla_up_proj') },
    2 * 8 * (8 * 4 * (4 + 2) + 4 * 4 * (4 + 4)),
  ],
  ['norms: 4 of 10 bytes', 'bytes', 'denseMlp', 'recompute', { candidate: again('layernorm') }, 8 * 16 * 4],
  ['an MLP: its three matrices', 'flops', 'denseMlp', 'recompute', { candidate: again('mlp') }, 2 * 8 * 16 * 32 * 3],
  [
    'the activation of experts',
    'bytes',
    'expertMlp',
    'recompute',
    { model: MOE, candidate: again('moe_act') },
    16 * (2 * 8 + 8) * 2,
  ],
  [
    'shared experts alone',
    'flops',
    'expertMlp',
    'recompute',
    { model: SHARED, candidate: again('shared_experts') },
    2 * 8 * 16 * 24 * 3,
  ],
  [
    'a mixture whole',
    'flops',
    'expertMlp',
    'recompute',
    { model: SHARED, candidate: again('moe') },
    2 * 8 * 16 * (2 * 8 + 24) * 3,
  ],
  [
    'a Mamba mixer: its projections',
    'flops',
    'stateSpace',
    'recompute',
    { model: MAMBA, candidate: again('mamba') },
    2 * 8 * 16 * (84 + 32),
  ],
  ['nothing of a block that is not named', 'flops', 'denseMlp', 'recompute', { candidate: again('core_attn') }, 0],
  [
    'everything with full recomputation',
    'flops',
    'denseMlp',
    'recompute',
    { candidate: { recompute: 'full' } },
    2 * 8 * 16 * 32 * 3,
  ],
  [
    'a quarter with one of the four layers of each of two stages',
    'flops',
    'denseMlp',
    'recompute',
    { candidate: { recompute: 'full', recomputeLayersPerChunk: 1, pipeline: 2 } },
    (2 * 8 * 16 * 32 * 3) / 4,
  ],
];

describe.each<[string, readonly Row[]]>([
  ['the memory traffic of a block', BYTES],
  ['the traffic between GPUs of a block', TRAFFIC],
  ['what a block computes again', RECOMPUTED],
])('%s', (_what, rows) => {
  it.each(rows)('%s (%s of %s)', (_sentence, ...row) => {
    const [counting, block, part, changes, want] = row;
    expect(partOf(costs(COUNTING[counting], changes)[block], part)).toBeCloseTo(want, 3);
  });
});
