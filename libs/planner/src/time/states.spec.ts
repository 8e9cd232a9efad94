import fc from 'fast-check';
import type { GpuFacts, CandidateLayout, RunFacts } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName, type TimeConstants } from './constants.ts';
import { kernelFacts } from './kernels.ts';
import { dataTrafficS, heaviestRank, optimizerS, parametersPerLayer, shardedTrafficS } from './states.ts';

/** Links and memory at their nominal rates. */
const NOMINAL: TimeConstants = {
  ...(Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start])) as Record<
    TimeConstantName,
    number
  >),
  scaleUpSlowdown: 1,
  collectiveLatencyS: 0,
  optimizerFactor: 1,
  deepspeedGather: 3,
};
/** A GB/s over each link, a TB/s of memory. */
const SLOW_LINKS: GpuFacts = { ...gpuOf('h100'), scaleUpGbPerS: 1, memoryTbPerS: 1, pcieGbPerS: 2 };
const BILLION = { dense: 1e9, experts: 0 };
const EXPERTS = { dense: 0, experts: 1e9 };
/** Nothing computes meanwhile. */
const NO_WINDOW = { forwardS: 0, backwardS: 0 };

const runOf = (
  candidate: Partial<CandidateLayout>,
  facts: Partial<Omit<RunFacts, 'candidate' | 'model'>> = {},
): RunFacts => aRun({ candidate, cluster: aCluster(8, { gpu: SLOW_LINKS }), ...facts });

describe('traffic of data-parallel ranks once per step', () => {
  it.each<[string, Partial<CandidateLayout>, Partial<Omit<RunFacts, 'candidate' | 'model'>>, typeof BILLION, number]>([
    ['reduces and returns gradients of 4 bytes without sharding', { data: 4 }, {}, BILLION, (3 / 4) * (4 + 4)],
    ['reduces gradients of 2 bytes', { data: 4 }, { gradientBytes: 2 }, BILLION, (3 / 4) * (2 + 2)],
    [
      'returns weights of 2 bytes where optimizer states are sharded',
      { data: 4, zeroStage: 1 },
      {},
      BILLION,
      (3 / 4) * (4 + 2),
    ],
    ['returns weights of 1 byte in fp8', { data: 4, zeroStage: 1 }, { precision: 'fp8' }, BILLION, (3 / 4) * (4 + 1)],
    [
      'reduces gradients after each of 4 micro-batches where ranks keep only those that they own',
      { data: 4, zeroStage: 2, zeroImplementation: 'fsdp' },
      { globalBatchSize: 16 },
      BILLION,
      (3 / 4) * (4 * 4 + 2),
    ],
    [
      'reduces them once where there is one micro-batch',
      { data: 4, zeroStage: 2, zeroImplementation: 'fsdp' },
      { globalBatchSize: 4 },
      BILLION,
      (3 / 4) * (4 + 2),
    ],
    [
      'reduces more slowly with ZeRO-2 of DeepSpeed',
      { data: 4, zeroStage: 2, zeroImplementation: 'deepspeed' },
      { globalBatchSize: 4 },
      BILLION,
      (3 / 4) * (1.5 * 4 + 2),
    ],
    ['counts context ranks as replicas', { data: 2, context: 2 }, {}, BILLION, (3 / 4) * (4 + 4)],
    ['is nothing for one rank', { tensor: 4 }, {}, BILLION, 0],
    ['is nothing once per step where all replicas shard the weights', { data: 4, zeroStage: 3 }, {}, BILLION, 0],
    [
      'is between copies of sharded weights, each rank its half',
      { data: 4, zeroStage: 3, shardGroup: 2 },
      {},
      BILLION,
      (1 / 2) * (1 / 2) * (4 + 4),
    ],
    ['is a hundredth with adapters', { data: 4 }, { loraRank: 8 }, BILLION, (3 / 4) * (4 + 4) * 0.01],
    ['of experts is among the ranks that hold the same ones', { data: 4, expert: 2 }, {}, EXPERTS, (1 / 2) * (4 + 4)],
    ['of experts is nothing where each rank has its own', { data: 4, expert: 4 }, {}, EXPERTS, 0],
  ])('%s', (_sentence, ...row) => {
    const [candidate, facts, held, want] = row;
    expect(dataTrafficS(runOf(candidate, facts), held, NO_WINDOW, NOMINAL)).toBeCloseTo(want, 9);
  });

  it.each([
    ['an unnamed engine reduces once, because its stages sum gradients', 'none', 4 + 2],
    ['MegaScale reduces once', 'megascale', 4 + 2],
    ['Megatron-LM reduces after each of 4 micro-batches, by Megatron-FSDP', 'megatron-lm core_v0.19', 4 * 4 + 2],
    ['NeMo reduces after each of 4 micro-batches, by Megatron-FSDP', 'nemo 25.04', 4 * 4 + 2],
  ])('under a pipeline with ZeRO-2, %s', (_sentence, stack, bytes) => {
    const candidate = { data: 4, pipeline: 2, zeroStage: 2, zeroImplementation: 'fsdp' } as const;
    const run = runOf(candidate, { globalBatchSize: 16, stack });
    expect(dataTrafficS(run, BILLION, NO_WINDOW, NOMINAL)).toBeCloseTo((3 / 4) * bytes, 9);
  });

  it.each<[string, Partial<CandidateLayout>, number]>([
    ['all but a quarter of gradients, where they overlap', { overlapGradReduce: true }, 3 * (1 / 4 + 1)],
    ['all but a quarter of weights, where they overlap', { overlapParamGather: true }, 3 * (1 + 1 / 4)],
    ['neither, where neither overlaps', {}, 3 * 2],
  ])('hides behind long passes %s', (_sentence, overlap, want) => {
    const run = runOf({ data: 4, ...overlap });
    const windows = { forwardS: 1e6, backwardS: 1e6 };
    expect(
      dataTrafficS(run, BILLION, windows, { ...NOMINAL, gradReduceExposed: 0.25, paramGatherExposed: 0.25 }),
    ).toBeCloseTo(want, 3);
  });

  it('never grows with longer passes to hide behind, and never falls below the exposed share', () => {
    const window = fc.double({ min: 0, max: 20, noNaN: true });
    fc.assert(
      fc.property(window, window, (forwardS, more) => {
        const run = runOf({ data: 4, overlapGradReduce: true, overlapParamGather: true });
        const seconds = (of: number): number => dataTrafficS(run, BILLION, { forwardS: of, backwardS: of }, NOMINAL);
        expect(seconds(forwardS + more)).toBeLessThanOrEqual(seconds(forwardS) + 1e-12);
        expect(seconds(forwardS + more)).toBeGreaterThanOrEqual(0.25 * 6);
      }),
    );
  });
});

describe('traffic of fully sharded weights per micro-batch', () => {
  it.each<[string, Partial<CandidateLayout>, typeof BILLION, { gatherS: number; reduceS: number }]>([
    ['gathers 2 bytes and reduces 4', { data: 4, zeroStage: 3 }, BILLION, { gatherS: 3 / 2, reduceS: 3 }],
    ['stays inside a shard group', { data: 4, zeroStage: 3, shardGroup: 2 }, BILLION, { gatherS: 1, reduceS: 2 }],
    [
      'is three times as slow, parameter by parameter',
      { data: 4, zeroStage: 3, zeroImplementation: 'deepspeed' },
      BILLION,
      { gatherS: 9 / 2, reduceS: 9 },
    ],
    [
      'shards experts over the ranks that hold the same ones',
      { data: 4, expert: 2, zeroStage: 3 },
      EXPERTS,
      { gatherS: 1, reduceS: 2 },
    ],
    ['is none below stage 3', { data: 4, zeroStage: 2 }, BILLION, { gatherS: 0, reduceS: 0 }],
  ])('%s', (_sentence, candidate, held, want) => {
    const { gatherS, reduceS } = shardedTrafficS(runOf(candidate), held, { dense: 1, experts: 1 }, NOMINAL);
    expect(gatherS).toBeCloseTo(want.gatherS, 9);
    expect(reduceS).toBeCloseTo(want.reduceS, 9);
  });
});

describe('the optimizer step', () => {
  /** Of a billion parameters at a TB/s: 42 bytes for each that the rank owns, 8 for each gradient it holds. */
  it.each<[string, Partial<CandidateLayout>, Partial<Omit<RunFacts, 'candidate' | 'model'>>, typeof BILLION, number]>([
    ['updates all parameters on every replica', { data: 4 }, {}, BILLION, 0.042 + 0.008],
    [
      'updates a quarter of them on each of 4 ranks, and scales all gradients',
      { data: 4, zeroStage: 1 },
      {},
      BILLION,
      0.042 / 4 + 0.008,
    ],
    ['scales all of them with ZeRO-2 as well', { data: 4, zeroStage: 2 }, {}, BILLION, 0.042 / 4 + 0.008],
    [
      'scales a quarter where gradients are gathered by quarters',
      { data: 4, zeroStage: 3 },
      {},
      BILLION,
      (0.042 + 0.008) / 4,
    ],
    ['shares among a shard group alone', { data: 4, zeroStage: 1, shardGroup: 2 }, {}, BILLION, 0.042 / 2 + 0.008],
    [
      'shares experts among the ranks that hold the same ones',
      { data: 4, expert: 2, zeroStage: 1 },
      {},
      EXPERTS,
      0.042 / 2 + 0.008,
    ],
    ['updates a hundredth with adapters', { data: 4 }, { loraRank: 8 }, BILLION, (0.042 + 0.008) / 100],
    [
      'moves 4 bytes over PCIe at 2 GB/s and 24 through host memory at 15 GB/s, offloaded',
      { offloadOptimizer: 1, zeroStage: 1 },
      {},
      BILLION,
      0.008 + 4 / 2 + 24 / 15,
    ],
    [
      'does a quarter of that for a quarter',
      { offloadOptimizer: 0.25, zeroStage: 1 },
      {},
      BILLION,
      0.75 * 0.042 + 0.008 + (4 / 2 + 24 / 15) / 4,
    ],
  ])('%s', (_sentence, ...row) => {
    const [candidate, facts, held, want] = row;
    const run = runOf(candidate, facts);
    expect(optimizerS(run, held, kernelFacts(SLOW_LINKS, run.precision, NOMINAL))).toBeCloseTo(want, 9);
  });
});

describe('parameters of ranks', () => {
  it('of the heaviest are of one rank, not the most of each', () => {
    const ranks = { dense: Float64Array.from([10, 4, 3]), experts: Float64Array.from([1, 8, 7]) };
    expect(heaviestRank(ranks)).toEqual({ dense: 4, experts: 8 });
  });

  it('of a layer are divided over tensor ranks, but its norms are not', () => {
    const [layer] = parametersPerLayer(aRun({ model: aModel(), candidate: { tensor: 2 } }));
    // Queries, keys, values and output of 4 and 2 heads of 4; a gated MLP of 32; two norms of 16.
    expect(layer).toEqual({ dense: (16 * (16 + 2 * 8 + 16) + 3 * 16 * 32) / 2 + 2 * 16, experts: 0 });
  });

  it('of experts are divided over expert ranks and their tensor ranks', () => {
    const experts = { count: 4, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };
    const candidate = { tensor: 2, data: 2, expert: 2, expertTensor: 2 };
    const [layer] = parametersPerLayer(aRun({ model: aModel({ experts }), candidate }));
    expect(layer?.experts).toBe((4 * 3 * 16 * 8) / (2 * 2));
  });
});
