import { aCandidate } from '../testing/candidates.ts';
import type { CandidateLayout, RunFacts } from '../facts.ts';
import { aModel, aRun } from '../testing/runs.ts';
import { predictMemory } from './predict-memory.ts';
import type { RankMemory } from './rank-memory.ts';

/** Parameters of one layer, of one vocabulary end, and of the final norm of the builder's model. */
const LAYER = 768 + 3 * 16 * 32 + 2 * 16;
const END = 64 * 16;
const NORM = 16;
const ALL = 8 * LAYER + 2 * END + NORM;

/** On four tensor ranks: norms, 2 per layer and the final one, stand whole on each. */
const QUARTER = (ALL - 17 * NORM) / 4 + 17 * NORM;

type Overrides = Parameters<typeof aRun>[0];

function stagesOf(run: Overrides): readonly RankMemory[] {
  return predictMemory(aRun(run)).stages;
}

function onlyStageOf(run: Overrides): RankMemory {
  const [stage] = stagesOf(run);
  if (stage === undefined) throw new Error('there is a rank');
  return stage;
}

const DISTOPT = { zeroStage: 1, zeroImplementation: 'distopt' } as const;
const FSDP = { zeroStage: 3, zeroImplementation: 'fsdp' } as const;

describe('states of one rank', () => {
  it.each<[string, Overrides, readonly [weights: number, gradients: number, optimizer: number]]>([
    ['18 bytes per parameter without sharding', {}, [2 * ALL, 4 * ALL, 12 * ALL]],
    ['the optimizer shared by eight', { candidate: { ...DISTOPT, data: 8 } }, [2 * ALL, 4 * ALL, (12 * ALL) / 8]],
    [
      'or by a group of four of them',
      { candidate: { ...DISTOPT, data: 8, shardGroup: 4 } },
      [2 * ALL, 4 * ALL, (12 * ALL) / 4],
    ],
    ['context ranks share too', { candidate: { ...DISTOPT, data: 2, context: 2 } }, [2 * ALL, 4 * ALL, (12 * ALL) / 4]],
    [
      'all of them with FSDP, in fp32',
      { candidate: { ...FSDP, data: 8 } },
      [(4 * ALL) / 8, (4 * ALL) / 8, (8 * ALL) / 8],
    ],
    ['tensor ranks share all but norms', { candidate: { tensor: 4 } }, [2 * QUARTER, 4 * QUARTER, 12 * QUARTER]],
    [
      'half of the optimizer in host memory',
      { candidate: { ...DISTOPT, data: 4, offloadOptimizer: 0.5 } },
      [2 * ALL, 4 * ALL, (12 * ALL) / 4 / 2],
    ],
    ['all weights in host memory', { candidate: { offloadWeights: 1 } }, [0, 4 * ALL, 12 * ALL]],
    ['adapters of rank 4 train 1.5 * 4 / 16 of it', { loraRank: 4 }, [2 * ALL, 4 * ALL * 0.375, 12 * ALL * 0.375]],
    [
      'tied ends on one rank are one',
      { model: aModel({ tiedEmbeddings: true }) },
      [2 * (ALL - END), 4 * (ALL - END), 12 * (ALL - END)],
    ],
    [
      'MXFP8 adds scales to matrices only',
      { precision: 'mxfp8' },
      [2 * ALL + (8 * (LAYER - 32) * 2) / 32, 4 * ALL, 12 * ALL],
    ],
  ])('%s', (_, run, [weights, gradients, optimizer]) => {
    const stage = onlyStageOf(run);
    expect(stage.weights).toBeCloseTo(weights, 6);
    expect(stage.gradients).toBeCloseTo(gradients, 6);
    expect(stage.optimizer).toBeCloseTo(optimizer, 6);
  });

  it('of a pipeline stand where their layers do: an embedding on the first rank, a head and a norm on the last', () => {
    const weights = stagesOf({ candidate: { pipeline: 4 } }).map((stage) => stage.weights / 2);
    expect(weights).toEqual([2 * LAYER + END, 2 * LAYER, 2 * LAYER, 2 * LAYER + END + NORM]);
  });

  it('of tied ends stand on both ranks of a pipeline, as the engine keeps a copy for each', () => {
    const weights = stagesOf({ model: aModel({ tiedEmbeddings: true }), candidate: { pipeline: 2 } });
    expect(weights.map((stage) => stage.weights / 2)).toEqual([4 * LAYER + END, 4 * LAYER + END + NORM]);
  });

  it('of a vocabulary over the pipeline are spread over all ranks, both ends', () => {
    const candidate = { pipeline: 4, vocabulary: 'sharded-over-pp' } as const;
    const weights = stagesOf({ candidate }).map((stage) => stage.weights / 2);
    const share = (2 * END) / 4;
    expect(weights).toEqual([2 * LAYER + share, 2 * LAYER + share, 2 * LAYER + share, 2 * LAYER + share + NORM]);
  });

  it('of experts are spread over expert times expert-tensor ranks', () => {
    const experts = { count: 8, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };
    const weightsOf = (candidate: Partial<CandidateLayout>) =>
      onlyStageOf({ model: aModel({ experts }), candidate }).weights;
    const routed = 2 * 8 * 8 * (3 * 16 * 8); // bytes, layers, experts
    expect(weightsOf({ data: 8 }) - weightsOf({ data: 8, expert: 4 })).toBe(routed - routed / 4);
    expect(weightsOf({ data: 8 }) - weightsOf({ data: 8, expert: 4, expertTensor: 2 })).toBe(routed - routed / 8);
  });
});

describe('what the backward pass holds besides', () => {
  const unit = LAYER;

  it.each<[string, Overrides, number]>([
    ['nothing is gathered without sharding', {}, 0],
    ['stage 1 gathers nothing', { candidate: { ...DISTOPT, data: 8 } }, 0],
    [
      'stage 2 keeps the gradient of a layer until it is reduced',
      { candidate: { data: 8, zeroStage: 2, zeroImplementation: 'fsdp' } },
      unit * 4,
    ],
    [
      'stage 3 two layers in bf16 and the gradient of one, and the vocabulary',
      { candidate: { ...FSDP, data: 8 } },
      unit * (2 * 2 + 4) + 2 * END * 2,
    ],
    [
      'DeepSpeed matrix by matrix: a third of a layer and what is gathered ahead, at most two layers',
      { candidate: { data: 8, zeroStage: 3, zeroImplementation: 'deepspeed' } },
      2 * unit * 2 + (unit / 3) * 4 + 2 * END * 2,
    ],
    ['offloaded weights come back two layers at a time', { candidate: { offloadWeights: 1 } }, 2 * unit * 2],
    ['half of them half of that', { candidate: { offloadWeights: 0.5 } }, unit * 2],
  ])('%s', (_, run, bytes) => {
    expect(onlyStageOf(run).gathered).toBeCloseTo(bytes, 6);
  });

  it('is what full recomputation computes again, less the logits, which are gone by then', () => {
    const recomputed = onlyStageOf({ model: aModel({ vocabularySize: 1 }), candidate: { recompute: 'full' } });
    const kept = onlyStageOf({ model: aModel({ vocabularySize: 1 }) });
    const perLayer = kept.activations / 8;
    expect(recomputed.activations).toBe(8 * 2 * 16 * 8);
    expect(recomputed.backward).toBeCloseTo(perLayer - 2 * 16 * 8 - recomputed.vocabulary, 6);
    expect(onlyStageOf({ model: aModel({ vocabularySize: 4096 }), candidate: { recompute: 'full' } }).backward).toBe(0);
  });
});

describe('workspace', () => {
  const matrices = LAYER - 32;

  it.each<[string, Overrides, number]>([
    ['Transformer Engine keeps a dummy gradient of two bytes per distinct matrix', {}, matrices * 2],
    ['with the distributed optimizer too', { candidate: { ...DISTOPT, data: 8 } }, matrices * 2],
    ['not with FSDP', { candidate: { ...FSDP, data: 8 } }, 0],
    ['not without Transformer Engine', { stack: 'megatron-lm 2022' }, 0],
    [
      'Megatron-DeepSpeed copies gradients in stage 1 without a pipeline',
      { stack: 'megatron-deepspeed', candidate: { data: 8, zeroStage: 1, zeroImplementation: 'deepspeed' } },
      ALL * 4,
    ],
  ])('%s', (_, run, bytes) => {
    expect(onlyStageOf(run).workspace).toBeCloseTo(bytes, 6);
  });

  it('counts copies of the optimizer step as far as activations have not left room for them', () => {
    const stage = onlyStageOf({ gradientBytes: 2 });
    const free = stage.activations + stage.vocabulary + stage.backward + stage.gathered;
    expect(stage.workspace).toBeCloseTo(matrices * 2 + Math.max(0, 4 * ALL - free - matrices * 2), 6);
    expect(stage.workspace).toBeGreaterThan(matrices * 2);
  });
});

describe('tensors between stages', () => {
  const boundary = 2 * 8 * 16;
  const activationsOf = (stack: string, candidate: Partial<CandidateLayout>) =>
    stagesOf({ stack, candidate }).map((stage) => stage.activations);

  it.each<[string, string, Partial<CandidateLayout>, readonly number[]]>([
    ['a current runtime keeps none', 'megatron-lm 2022', { pipeline: 4 }, [0, 0, 0, 0]],
    ['the zero-bubble runtime two of every micro-batch in flight', 'zero-bubble', { pipeline: 4 }, [8, 6, 4, 2]],
    ['but none in a V', 'zero-bubble', { pipeline: 4, schedule: 'zbv', chunks: 2 }, [0, 0, 0, 0]],
    ['and none without a pipeline', 'zero-bubble', {}, [0]],
  ])('%s', (_, stack, candidate, tensors) => {
    const plain = activationsOf('megatron-lm 2022', candidate);
    const extra = activationsOf(stack, candidate).map((bytes, rank) => (bytes - (plain[rank] ?? 0)) / boundary);
    tensors.forEach((count, rank) => expect(extra[rank]).toBeCloseTo(count, 9));
  });

  it('Megatron-DeepSpeed holds one micro-batch more than the schedule, with its tensor between stages', () => {
    const plain = activationsOf('megatron-lm 2022', { pipeline: 4 });
    const more = activationsOf('megatron-deepspeed', { pipeline: 4 });
    [4, 3, 2, 1].forEach((inFlight, rank) => {
      const kept = plain[rank] ?? 0;
      expect(more[rank]).toBeCloseTo(kept + kept / inFlight + (inFlight + 1) * boundary, 6);
    });
  });

  it('a vocabulary over the pipeline keeps 24 and two thirds per rank hidden states (memory-model.md)', () => {
    const layout = { pipeline: 4, vocabulary: 'sharded-over-pp' } as const;
    const layer = (activationsOf('megatron-lm 2022', {})[0] ?? 0) / 8;
    const [first] = activationsOf('megatron-lm 2022', layout);
    expect(first).toBeCloseTo(2 * (4 + 1) * layer + (24 + (2 / 3) * 4) * boundary, 6);
  });
});

describe('host memory', () => {
  it('holds what the GPU does not, but for two layers of activations in passing', () => {
    const all: Partial<CandidateLayout> = { offloadOptimizer: 1, offloadActivations: 1, offloadWeights: 1 };
    const here = onlyStageOf({ candidate: aCandidate({ ...DISTOPT }) });
    const away = onlyStageOf({ candidate: { ...DISTOPT, ...all } });
    expect([away.weights, away.optimizer]).toEqual([0, 0]);
    expect(away.activations).toBeCloseTo((here.activations * 2) / 8, 6);
    expect(away.hostBytes).toBeCloseTo(here.weights + here.optimizer + (here.activations * 6) / 8, 6);
    expect(here.hostBytes).toBe(0);
  });
});

describe('memory falls and rises as it must', () => {
  /** Every preset size of run is small here, so any change of a part shows. */
  const peakOf = (run: Overrides): number => predictMemory(aRun(run)).peakAllocatedBytes;
  const layouts: readonly Partial<CandidateLayout>[] = [
    {},
    { recompute: 'full' },
    { ...DISTOPT, data: 2 },
    { ...FSDP, data: 2 },
  ];
  const facts: readonly Partial<Pick<RunFacts, 'flashAttention' | 'precision'>>[] = [
    {},
    { flashAttention: false },
    { precision: 'fp32' },
  ];

  it.each<
    [string, (candidate: Partial<CandidateLayout>) => Overrides, (candidate: Partial<CandidateLayout>) => Overrides]
  >([
    [
      'more tensor ranks take less',
      (candidate) => ({ candidate: { ...candidate, tensor: 2 } }),
      (candidate) => ({ candidate }),
    ],
    [
      'more stages take less',
      (candidate) => ({ candidate: { ...candidate, pipeline: 2 }, globalBatchSize: 2 }),
      (candidate) => ({ candidate, globalBatchSize: 2 }),
    ],
    [
      'shorter sequences take less',
      (candidate) => ({ candidate, sequenceLength: 8 }),
      (candidate) => ({ candidate, sequenceLength: 64 }),
    ],
    [
      'smaller micro-batches take less',
      (candidate) => ({ candidate }),
      (candidate) => ({ candidate: { ...candidate, microBatchSize: 2 } }),
    ],
    [
      'fewer layers take less',
      (candidate) => ({ candidate, model: aModel({ layers: 4 }) }),
      (candidate) => ({ candidate }),
    ],
    [
      'a smaller vocabulary takes less',
      (candidate) => ({ candidate, model: aModel({ vocabularySize: 32 }) }),
      (candidate) => ({ candidate }),
    ],
  ])('%s', (_, small, large) => {
    for (const candidate of layouts) {
      for (const fact of facts) {
        expect(peakOf({ ...small(candidate), ...fact })).toBeLessThan(peakOf({ ...large(candidate), ...fact }));
      }
    }
  });

  it('without a pipeline, does not depend on how many micro-batches a step has', () => {
    expect(peakOf({ globalBatchSize: 1 })).toBe(peakOf({ globalBatchSize: 1024 }));
  });

  it('in a pipeline, does not grow beyond a full one; GPipe keeps them all', () => {
    const of = (schedule: '1f1b' | 'gpipe', globalBatchSize: number) =>
      peakOf({ candidate: { pipeline: 4, schedule }, globalBatchSize });
    expect(of('1f1b', 4)).toBe(of('1f1b', 64));
    expect(of('gpipe', 64)).toBeGreaterThan(of('gpipe', 4));
  });
});
