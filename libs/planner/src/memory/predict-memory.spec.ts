import type { ModelShape } from '@coxswain/layout';
import { GIB_BYTES } from '@coxswain/units';
import fc from 'fast-check';

import type { CandidateLayout, RunFacts } from '../facts.ts';
import { gpuOf, modelOf } from '../presets/index.ts';
import { aCandidate } from '../testing/candidates.ts';
import { verdictOf } from './memory-verdict.ts';
import { peakAllocatedBytesOf, predictMemory } from './predict-memory.ts';
import type { RankMemory } from './rank-memory.ts';

interface Overrides extends Partial<Omit<RunFacts, 'model' | 'candidate'>> {
  readonly model?: string | ModelShape;
  readonly candidate?: Partial<CandidateLayout>;
}

function aRun({ model = 'llama-3.1-8b', candidate = {}, ...facts }: Overrides = {}): RunFacts {
  const gpu = gpuOf('h100');
  const cluster = { gpu, gpus: 64, gpusPerNode: 8, scaleUpDomainGpus: 8, scaleOutGbPerS: 50 };
  return {
    model: typeof model === 'string' ? modelOf(model).model : model,
    cluster: { ...cluster, nicKind: 'infiniband' },
    stack: 'megatron-core',
    precision: 'bf16',
    flashAttention: true,
    gradientBytes: 4,
    loraRank: 0,
    candidate: aCandidate(candidate),
    globalBatchSize: 256,
    sequenceLength: 4096,
    ...facts,
  };
}

function sumOfParts(stage: RankMemory): number {
  const { totalBytes: _total, hostBytes: _host, ...parts } = stage;
  return Object.values(parts).reduce((sum, part) => sum + part, 0);
}

const gpt = (layers: number, hiddenSize: number, attentionHeads: number, vocabularySize: number): ModelShape => ({
  ...modelOf('gpt3-175b').model,
  layers,
  hiddenSize,
  ffnHiddenSize: 4 * hiddenSize,
  attentionHeads,
  keyValueHeads: attentionHeads,
  headDim: hiddenSize / attentionHeads,
  vocabularySize,
  dropout: true,
  tiedEmbeddings: false,
});

const DEEPSEEK_V2_PROXY: ModelShape = { ...modelOf('deepseek-v2').model, layers: 4 };
const VOCABULARY_21B = gpt(64, 5120, 40, 131_072);
const ZERO_BUBBLE_28B = gpt(62, 6144, 48, 50_304);
const PIPELINE_OF_32: Partial<CandidateLayout> = { pipeline: 32 };

/** Peaks of PyTorch's allocator as published: vocabulary parallelism, zero-bubble schedules (both A100) and SimuMax's table (B200). */
const PUBLISHED_PEAKS: readonly (readonly [what: string, run: Overrides, gib: number])[] = [
  [
    'vocabpp 1F1B, 21B, vocabulary at the ends',
    {
      model: VOCABULARY_21B,
      stack: 'vocabulary-parallel',
      precision: 'fp16',
      gradientBytes: 2,
      candidate: PIPELINE_OF_32,
      sequenceLength: 2048,
      globalBatchSize: 128,
    },
    41.17,
  ],
  [
    'vocabpp 1F1B, 21B, vocabulary over the pipeline with two barriers',
    {
      model: VOCABULARY_21B,
      stack: 'vocabulary-parallel',
      precision: 'fp16',
      gradientBytes: 2,
      candidate: { ...PIPELINE_OF_32, vocabulary: 'sharded-over-pp', vocabularyBarriers: 2 },
      sequenceLength: 2048,
      globalBatchSize: 128,
    },
    33.86,
  ],
  [
    'vocabpp 1F1B, 21B, interlaced vocabulary',
    {
      model: VOCABULARY_21B,
      stack: 'vocabulary-parallel',
      precision: 'fp16',
      gradientBytes: 2,
      candidate: { ...PIPELINE_OF_32, vocabulary: 'interlaced' },
      sequenceLength: 2048,
      globalBatchSize: 128,
    },
    43.4,
  ],
  [
    'zero bubble, 1F1B, 28.3B without FlashAttention',
    {
      model: ZERO_BUBBLE_28B,
      stack: 'zero-bubble',
      flashAttention: false,
      candidate: { ...PIPELINE_OF_32, vocabulary: 'counted-as-layer' },
      sequenceLength: 1024,
      globalBatchSize: 256,
    },
    43,
  ],
  [
    'zero bubble, ZB-V, 28.3B without FlashAttention, micro-batches of two',
    {
      model: ZERO_BUBBLE_28B,
      stack: 'zero-bubble',
      flashAttention: false,
      candidate: { ...PIPELINE_OF_32, vocabulary: 'counted-as-layer', schedule: 'zbv', chunks: 2, microBatchSize: 2 },
      sequenceLength: 1024,
      globalBatchSize: 512,
    },
    71,
  ],
  [
    'zero bubble, two interleaved chunks, 28.3B without FlashAttention',
    {
      model: ZERO_BUBBLE_28B,
      stack: 'zero-bubble',
      flashAttention: false,
      candidate: { ...PIPELINE_OF_32, vocabulary: 'counted-as-layer', schedule: 'interleaved-1f1b', chunks: 2 },
      sequenceLength: 1024,
      globalBatchSize: 256,
    },
    58,
  ],
  [
    'SimuMax, DeepSeek-V2 of 4 layers, 8 expert ranks',
    {
      model: DEEPSEEK_V2_PROXY,
      candidate: { data: 8, expert: 8, zeroStage: 1, zeroImplementation: 'distopt' },
      globalBatchSize: 32,
    },
    45.63,
  ],
  [
    'SimuMax, DeepSeek-V2 of 4 layers, 2 stages and 4 expert ranks',
    {
      model: DEEPSEEK_V2_PROXY,
      candidate: { data: 4, pipeline: 2, expert: 4, zeroStage: 1, zeroImplementation: 'distopt' },
      globalBatchSize: 16,
    },
    44.7,
  ],
];

describe('predictMemory', () => {
  it.each(PUBLISHED_PEAKS)('%s: within 2 %% of the published peak', (_, overrides, gib) => {
    const peak = predictMemory(aRun(overrides)).peakAllocatedBytes / GIB_BYTES;
    expect(Math.abs(peak / gib - 1)).toBeLessThan(0.02);
  });

  it('every rank of a sharded vocabulary holds its share of the logits', () => {
    const candidate = { pipeline: 4, vocabulary: 'sharded-over-pp' } as const;
    const { stages } = predictMemory(aRun({ candidate }));
    const { vocabulary } = predictMemory(aRun({ candidate: { pipeline: 4 } })).stages[3] ?? { vocabulary: 0 };
    for (const stage of stages) expect(Math.abs((4 * stage.vocabulary) / vocabulary - 1)).toBeLessThan(0.1); // the input of the head stands whole on each
  });

  it('expert-tensor ranks gather the tokens of each other', () => {
    const experts = { model: 'mixtral-8x7b', candidate: { tensor: 2, sequenceParallel: true, data: 4, expert: 4 } };
    const activationsOf = (expertTensor: number): number => {
      const candidate = { ...experts.candidate, expertTensor };
      return predictMemory(aRun({ ...experts, candidate })).stages[0]?.activations ?? 0;
    };
    const copies = 32 * 2 * (4096 / 2) * 2 * 4096; // layers, experts per token, tokens per rank, bytes of a token
    expect(activationsOf(2) - activationsOf(1)).toBeCloseTo(copies, 0);
  });

  it('Megatron’s full copies of the states: 18 bytes per parameter', () => {
    const [stage] = predictMemory(aRun()).stages;
    if (stage === undefined) throw new Error('there is one rank');
    const states = stage.weights + stage.gradients + stage.optimizer;
    expect(states).toBeCloseTo(18 * 8_030_261_248, 0);
  });

  it('offloading moves its share to the host, but for two layers that activations pass through', () => {
    const here = predictMemory(aRun());
    const there = predictMemory(aRun({ candidate: { offloadOptimizer: 0.5, offloadActivations: 1 } }));
    const [stage] = here.stages;
    if (stage === undefined) throw new Error('there is one rank');
    const buffers = 2 / 32; // two of 32 equal layers stay
    expect(there.hostBytesPerGpu).toBeCloseTo(0.5 * stage.optimizer + (1 - buffers) * stage.activations, 0);
    expect(there.peakAllocatedBytes).toBeLessThan(here.peakAllocatedBytes);
  });

  it('stage 2 holds the gradient of a unit until it is reduced, offloaded weights come back by twos', () => {
    const layout = { data: 8, zeroStage: 2, zeroImplementation: 'fsdp' } as const;
    const gatheredOf = (change: Partial<CandidateLayout>): number =>
      predictMemory(aRun({ candidate: { ...layout, ...change } })).stages[0]?.gathered ?? 0;
    const layer = 218_112_000;
    expect(gatheredOf({})).toBe(4 * layer);
    expect(gatheredOf({ zeroStage: 1 })).toBe(0);
    expect(gatheredOf({ zeroStage: 1, offloadWeights: 1 })).toBe(2 * 2 * layer);
  });

  it('a pipeline that reduces gradients once a step keeps them whole in stage 2, Megatron-FSDP its part', () => {
    const candidate = { pipeline: 2, data: 8, zeroImplementation: 'fsdp' } as const;
    const statesOf = (zeroStage: 1 | 2, stack: string) =>
      predictMemory(aRun({ stack, candidate: { ...candidate, zeroStage } })).stages.map(
        ({ gradients, gathered }) => gradients + gathered,
      );
    expect(statesOf(2, 'none')).toEqual(statesOf(1, 'none'));
    expect(Math.max(...statesOf(2, 'megatron-lm'))).toBeLessThan(Math.max(...statesOf(1, 'megatron-lm')) / 2);
  });

  it('adapters need states for what they train only', () => {
    const candidate = { zeroStage: 1, zeroImplementation: 'distopt' } as const;
    const [full] = predictMemory(aRun({ candidate })).stages;
    const [lora] = predictMemory(aRun({ candidate, loraRank: 16 })).stages;
    expect(lora?.weights).toBe(full?.weights);
    expect(lora?.optimizer).toBeLessThan(0.01 * (full?.optimizer ?? 0));
  });

  it('says what is needed and whether it fits', () => {
    const answer = predictMemory(aRun({ candidate: { data: 8, zeroStage: 3, zeroImplementation: 'fsdp' } }));
    expect(answer.verdict).toBe('fits');
    expect(answer.marginBytes).toBe(answer.capacityBytes - answer.deviceUsedBytes);
    expect(answer.sentence).toMatch(/^needs \d+\.\d of 79\.6 GiB per GPU: fits$/);
  });
});

describe('verdictOf', () => {
  const run = aRun();

  it.each([
    ['fits', 0.85],
    ['tight', 0.95],
    ['tight', 1.1],
    ['doesNotFit', 1.15],
  ])('%s where the device would be used to %d of its capacity', (verdict, share) => {
    const used = share * run.cluster.gpu.memoryGib;
    const allocated = ((used - 2) / 1.05) * GIB_BYTES; // slack and context of a current Megatron-Core
    expect(verdictOf(allocated, run)).toBe(verdict);
  });

  it('the margin can be stated', () => {
    const allocated = 0.6 * run.cluster.gpu.memoryGib * GIB_BYTES;
    expect(verdictOf(allocated, run, 0.5)).toBe('tight');
  });
});

const power = (most: number): fc.Arbitrary<number> =>
  fc.integer({ min: 0, max: most }).map((exponent) => 2 ** exponent);
const layouts: fc.Arbitrary<Partial<CandidateLayout>> = fc
  .record({
    tensor: power(3),
    context: power(2),
    pipeline: power(3),
    data: power(3),
    expert: power(1),
    schedule: fc.constantFrom('1f1b', 'interleaved-1f1b', 'gpipe', 'zb-h1'),
    microBatchSize: power(2),
    sequenceParallel: fc.boolean(),
    zeroStage: fc.constantFrom(0, 1, 2, 3),
    recompute: fc.constantFrom('none', 'selective', 'full'),
    vocabulary: fc.constantFrom('end-stages', 'sharded-over-pp', 'counted-as-layer'),
    offloadOptimizer: fc.constantFrom(0, 0.5, 1),
  })
  .map((layout) => ({
    ...layout,
    shardGroup: layout.data * layout.context,
    chunks: layout.schedule === 'interleaved-1f1b' ? 2 : 1,
    recomputeModules: layout.recompute === 'selective' ? (['mlp', 'moe'] as const) : [],
    zeroImplementation: layout.zeroStage === 0 ? 'ddp' : layout.zeroStage === 1 ? 'distopt' : 'fsdp',
  }));
const models = fc.constantFrom('llama-3.1-8b', 'mixtral-8x7b', 'deepseek-v2-lite', 'nemotron-3-nano-30b-a3b');
const runs = fc.record({ model: models, candidate: layouts, flashAttention: fc.boolean() });

describe('memory of any layout', () => {
  it('the parts of a rank sum to its total, and the search sees the worst rank', () => {
    fc.assert(
      fc.property(runs, (overrides) => {
        const run = aRun(overrides);
        const { stages, peakAllocatedBytes } = predictMemory(run);
        for (const stage of stages) {
          expect(sumOfParts(stage)).toBe(stage.totalBytes);
          expect(Object.values(stage).every((bytes) => bytes >= 0)).toBe(true);
        }
        expect(peakAllocatedBytesOf(run)).toBe(peakAllocatedBytes);
      }),
    );
  });

  it.each<[string, Partial<CandidateLayout>, Partial<CandidateLayout>]>([
    ['a larger micro-batch', { microBatchSize: 1 }, { microBatchSize: 2 }],
    ['fewer tensor ranks', { tensor: 8 }, { tensor: 4 }],
    ['fewer context ranks', { context: 4, shardGroup: 8, data: 8 }, { context: 2, shardGroup: 8, data: 8 }],
    ['less recomputation', { recompute: 'full' }, { recompute: 'none', recomputeModules: [] }],
    ['less offloading', { offloadOptimizer: 0.5 }, { offloadOptimizer: 0 }],
    [
      'a lower ZeRO stage',
      { zeroStage: 1, zeroImplementation: 'distopt' },
      { zeroStage: 0, zeroImplementation: 'ddp' },
    ],
    ['fewer ranks that share the states', { data: 8, shardGroup: 8 }, { data: 8, shardGroup: 4 }],
  ])('%s never takes less', (_, small, large) => {
    fc.assert(
      fc.property(runs, (overrides) => {
        const peakOf = (change: Partial<CandidateLayout>): number =>
          peakAllocatedBytesOf(
            aRun({
              ...overrides,
              candidate: { ...overrides.candidate, context: 1, shardGroup: overrides.candidate.data ?? 1, ...change },
            }),
          );
        expect(peakOf(large)).toBeGreaterThanOrEqual(peakOf(small) * (1 - 1e-12));
      }),
    );
  });
});

describe('host memory', () => {
  const offloading = {
    model: 'llama-3.1-70b',
    candidate: { tensor: 8, data: 8, zeroStage: 1, offloadOptimizer: 1 },
  } as const;

  it('is a limit: what the host has no room for does not fit, whatever the GPU has, and the sentence says so', () => {
    const { cluster } = aRun(offloading);
    const roomy = predictMemory(aRun({ ...offloading, cluster: { ...cluster, hostMemoryGibPerNode: 2048 } }));
    const small = predictMemory(aRun({ ...offloading, cluster: { ...cluster, hostMemoryGibPerNode: 64 } }));
    expect(small.hostBytesPerGpu).toBe(roomy.hostBytesPerGpu);
    expect(roomy.sentence).not.toContain('host');
    expect(small.verdict).toBe('doesNotFit');
    expect(small.sentence).toMatch(/^offloads \d+\.\d GiB per GPU, but the host has 6\.4 GiB per GPU: does not fit$/);
  });
});
