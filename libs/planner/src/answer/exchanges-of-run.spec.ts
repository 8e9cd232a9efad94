import fc from 'fast-check';
import type { CandidateLayout, GpuFacts, RunFacts } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName, type TimeConstants } from '../time/constants.ts';
import { predictStepTime } from '../time/step-time.ts';
import { exchangesOfRun, type ExchangingGroup, type GroupExchange } from './exchanges-of-run.ts';

function of(run: RunFacts, group: ExchangingGroup): GroupExchange | undefined {
  return exchangesOfRun(run).find((exchange) => exchange.group === group);
}

type Row = readonly [
  sentence: string,
  run: RunFacts,
  group: ExchangingGroup,
  pattern: GroupExchange['pattern'],
  bytes: number,
];

const LLAMA_70B = aRun({
  model: 'llama-3.1-70b',
  candidate: { tensor: 8, pipeline: 4, data: 16, sequenceParallel: true, zeroStage: 1 },
  globalBatchSize: 512,
  sequenceLength: 8192,
});
const with70b = (candidate: Partial<CandidateLayout>): RunFacts => ({
  ...LLAMA_70B,
  candidate: { ...LLAMA_70B.candidate, ...candidate },
});
/** Of one micro-batch of 8,192 tokens: hidden size 8,192, two bytes. */
const ACTIVATION_70B = 8192 * 8192 * 2;
/** Attention with 64 heads and 8 of keys and values, three matrices of the MLP; 8 tensor ranks. */
const SPLIT_70B = (8192 * (64 + 2 * 8) * 128 + 8192 * 8192 + 3 * 8192 * 28_672) / 8;
/** 20 layers with two norms each, and of embedding and output projection a fourth each, as four stages share them. */
const HELD_70B = 20 * (SPLIT_70B + 2 * 8192) + (2 * 128_256 * 8192) / 8 / 4;

const LLAMA_405B = aRun({
  model: 'llama-3.1-405b',
  candidate: { tensor: 8, context: 2, pipeline: 8, data: 4, sequenceParallel: true, zeroStage: 1 },
  globalBatchSize: 64,
  sequenceLength: 8192,
});

const MIXTRAL = aRun({
  model: 'mixtral-8x7b',
  candidate: { data: 8, expert: 8, zeroStage: 1 },
  globalBatchSize: 32,
  sequenceLength: 4096,
});

const DEEPSEEK = aRun({
  model: 'deepseek-v3',
  candidate: { pipeline: 8, data: 128, expert: 64, zeroStage: 1 },
  globalBatchSize: 4096,
  sequenceLength: 4096,
});

const TIED = aRun({ model: aModel({ tiedEmbeddings: true }), candidate: { pipeline: 2, data: 2 } });

const ROWS: readonly Row[] = [
  [
    'Llama 70B gathers and scatters around 40 blocks four times, and at the ends',
    LLAMA_70B,
    'tensor',
    'ring',
    32 * (40 * 4 + (2 + 4) / 4) * ACTIVATION_70B * (7 / 8),
  ],
  [
    'full recomputation gathers and scatters around the blocks once more forward',
    with70b({ recompute: 'full' }),
    'tensor',
    'ring',
    32 * (40 * 6 + (2 + 4) / 4) * ACTIVATION_70B * (7 / 8),
  ],
  [
    'Llama 70B hands activations on and gets gradients back',
    LLAMA_70B,
    'pipeline',
    'chain',
    (2 * 32 * ACTIVATION_70B) / 8,
  ],
  [
    'without sequence parallelism each tensor rank hands on all of them',
    with70b({ sequenceParallel: false }),
    'pipeline',
    'chain',
    2 * 32 * ACTIVATION_70B,
  ],
  [
    'interleaved stages hand on as often as a rank has chunks',
    with70b({ chunks: 5 }),
    'pipeline',
    'chain',
    (5 * 2 * 32 * ACTIVATION_70B) / 8,
  ],
  [
    'and the last rank hands on to the first but after the last chunk',
    with70b({ chunks: 5 }),
    'pipelineEnds',
    'chain',
    (4 * 2 * 32 * ACTIVATION_70B) / 8,
  ],
  [
    'the distributed optimizer reduces fp32 gradients and gathers bf16 weights',
    LLAMA_70B,
    'data',
    'ring',
    HELD_70B * (4 + 2) * (15 / 16),
  ],
  ['without it gradients go round twice', with70b({ zeroStage: 0 }), 'data', 'ring', HELD_70B * (4 + 4) * (15 / 16)],
  [
    'fully sharded layers are gathered twice and reduced once per micro-batch',
    with70b({ zeroStage: 3, shardGroup: 8 }),
    'dataShard',
    'ring',
    32 * 20 * (SPLIT_70B + 2 * 8192) * (2 * 2 + 4) * (7 / 8),
  ],
  [
    'and copies of the shards are summed once per step',
    with70b({ zeroStage: 3, shardGroup: 8 }),
    'dataReplica',
    'ring',
    ((HELD_70B * (4 + 4)) / 8) * (1 / 2),
  ],
  [
    'Llama 405B passes on one head of keys and values per tensor rank, three times per layer',
    LLAMA_405B,
    'context',
    'ring',
    16 * (126 / 8) * 3 * 4096 * 2 * 128 * 2,
  ],
  [
    'Ulysses deals out queries, keys, values and outputs to each context rank',
    { ...LLAMA_405B, candidate: { ...LLAMA_405B.candidate, contextAlgorithm: 'ulysses' } },
    'context',
    'allToAll',
    (16 * (126 / 8) * 3 * 2 * 4096 * (2 * 16 + 2) * 128 * 2) / 2,
  ],
  [
    'Mixtral sends two copies of each token to experts and back, forward and backward',
    MIXTRAL,
    'expert',
    'allToAll',
    (4 * 32 * 4 * 4096 * 2 * 4096 * 2) / 8,
  ],
  [
    'a capacity of half an even share sends half',
    { ...MIXTRAL, candidate: { ...MIXTRAL.candidate, expertCapacity: 0.5 } },
    'expert',
    'allToAll',
    (4 * 32 * 4 * 4096 * 2 * 4096 * 2) / 8 / 2,
  ],
  [
    'DeepSeek-V3 sends eight copies of each token, in 58 of 61 layers and its prediction module',
    DEEPSEEK,
    'expert',
    'allToAll',
    (32 * ((58 + 1) / 8) * 4 * 4096 * 8 * 7168 * 2) / 64,
  ],
  [
    'DeepSeek-V3 reduces and gathers four experts of 58 layers between two ranks',
    DEEPSEEK,
    'expertData',
    'ring',
    (4 * 3 * 7168 * 2048 * 58 * (4 + 2)) / 8 / 2,
  ],
  ['tied ends sum the gradients of the embedding: 64 words of 16', TIED, 'embedding', 'ring', 64 * 16 * 4],
];

describe('bytes in a step', () => {
  it.each(ROWS)('%s', (...row) => {
    const [, run, group, pattern, bytes] = row;
    const exchange = of(run, group);
    expect(exchange?.pattern).toBe(pattern);
    expect((exchange?.bytesPerPair ?? 0) / bytes).toBeCloseTo(1, 12);
  });

  it.each<readonly [sentence: string, run: RunFacts, groups: string]>([
    ['of one rank are none', aRun(), ''],
    ['of replicas are their gradients', aRun({ candidate: { data: 2 } }), 'data'],
    [
      'of experts that all have replicas',
      aRun({ model: 'mixtral-8x7b', candidate: { data: 16, expert: 8 } }),
      'expert data expertData',
    ],
    [
      'of split experts',
      aRun({ model: 'mixtral-8x7b', candidate: { tensor: 2, expertTensor: 2 } }),
      'tensor expertTensor',
    ],
    [
      'of a V-shaped schedule end on the rank where they began',
      aRun({ candidate: { pipeline: 2, chunks: 2, schedule: 'zbv' } }),
      'pipeline',
    ],
  ])('%s', (_sentence, run, groups) => {
    expect(
      exchangesOfRun(run)
        .map(({ group }) => group)
        .join(' '),
    ).toBe(groups);
  });

  it('are those that the time model prices where no expert draws more than its share', () => {
    fc.assert(
      fc.property(anyRun(), (any) => {
        const run = { ...any, candidate: { ...any.candidate, expertCapacity: 1 } };
        const { partsS } = predictStepTime(run, PLAIN);
        const bytes = (...groups: readonly ExchangingGroup[]): number =>
          groups.reduce((sum, group) => sum + sentBytes(run, of(run, group)), 0);
        const priced = (...parts: readonly (keyof typeof partsS)[]): number =>
          parts.reduce((sum, part) => sum + partsS[part], 0) * PER_SECOND;
        expect(bytes('tensor')).toBeCloseTo(priced('tensorTraffic', 'vocabulary'), 3);
        expect(bytes('context')).toBeCloseTo(priced('contextTraffic'), 3);
        expect(bytes('expert', 'expertTensor')).toBeCloseTo(priced('expertTraffic'), 3);
        expect(bytes('data', 'expertData')).toBeCloseTo(priced('dataTraffic'), 3);
      }),
    );
  });
});

/** Nothing slows anything down, and nothing but bytes between GPUs takes time: one for each picosecond. */
const PLAIN: TimeConstants = {
  ...(Object.fromEntries(
    TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].unit === 'ratio' ? 1 : 0]),
  ) as Record<TimeConstantName, number>),
  gemmRidge: 0,
};
const FAST = 1e30;
const PER_SECOND = 1e12;
const LINKS: GpuFacts = {
  ...gpuOf('h100'),
  bf16Tflops: FAST,
  fp8Tflops: 0,
  fp4Tflops: 0,
  matmulCeiling: 1,
  memoryTbPerS: FAST,
  scaleUpGbPerS: 1000,
};

/** All in one NVLink domain; small enough that picoseconds count single bytes. */
function anyRun(): fc.Arbitrary<RunFacts> {
  const experts = { count: 4, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 24, denseLayers: 2, latentSize: 0 };
  return fc
    .record({
      tensor: fc.constantFrom(1, 2),
      context: fc.constantFrom(1, 2),
      data: fc.constantFrom(4, 8),
      zeroStage: fc.constantFrom<0 | 1 | 2>(0, 1, 2),
      sequenceParallel: fc.boolean(),
      contextAlgorithm: fc.constantFrom<'allgather' | 'ulysses'>('allgather', 'ulysses'),
      microBatchSize: fc.constantFrom(1, 2),
      expert: fc.constantFrom(0, 1, 2),
      expertTensor: fc.constantFrom(1, 2),
    })
    .map(({ expert, expertTensor, ...choices }) => {
      const hasExperts = expert > 0;
      const candidate = hasExperts ? { ...choices, expert, expertTensor } : choices;
      const gpus = choices.tensor * choices.context * choices.data;
      const cluster = aCluster(gpus, { gpu: LINKS, gpusPerNode: gpus, scaleUpDomainGpus: gpus });
      return aRun({ model: aModel(hasExperts ? { experts } : {}), cluster, candidate });
    });
}

/** That a rank sends in all. */
function sentBytes(run: RunFacts, exchange: GroupExchange | undefined): number {
  if (exchange === undefined) return 0;
  if (exchange.pattern === 'ring') return exchange.bytesPerPair;
  const { context, expert } = run.candidate;
  return exchange.bytesPerPair * ((exchange.group === 'context' ? context : expert) - 1);
}
