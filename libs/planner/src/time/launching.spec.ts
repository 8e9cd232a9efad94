/** What the host needs to launch a block, on a machine whose GPU needs nothing. */
import type { CandidateLayout, Precision } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { TIME_CONSTANT_NAMES, type TimeConstantName, type TimeConstants } from './constants.ts';
import { softMax } from './kernels.ts';
import { blockCostsOf, type BlockCosts } from './stage-cost.ts';

const FAST = 1e30;
const GPU = { ...gpuOf('h100'), bf16Tflops: FAST, memoryTbPerS: FAST, scaleUpGbPerS: FAST };
const CONSTANTS: TimeConstants = {
  ...(Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, 0])) as Record<TimeConstantName, number>),
  gemmSlowdown: 1,
  hostLayerS: 1,
  hostExpertS: 1,
  hostAlltoall: 1.5,
  hostOverlapped: 2,
  hostCapacity: 0.25,
  graphsPartial: 0.8,
  graphsFull: 0.1,
};
const EXPERTS = { count: 4, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };
const MIXERS = {
  layerPattern: 'M-M-M-M-',
  stateSpace: { stateSize: 4, heads: 4, headDim: 8, groups: 2, convKernel: 4 },
};

/** Seconds to launch a layer of four experts, of which the products of one take 0.1 in bf16 and 0.3 where they are cast. */
function ofExpertsS(changes: Partial<CandidateLayout>, precision: Precision = 'bf16'): number {
  const candidate = { dispatcher: 'hybridep' as const, ...changes };
  const run = aRun({ model: aModel({ experts: EXPERTS }), cluster: aCluster(8, { gpu: GPU }), candidate, precision });
  const constants = { ...CONSTANTS, hostPerExpertS: 0.1, hostPerExpertCast: 3, mxfp8Slowdown: 1 };
  return blockCostsOf(run, constants).expertMlp.forwardS;
}

describe('launching a block forward', () => {
  it.each<[string, keyof BlockCosts, Partial<CandidateLayout>, number]>([
    ['a layer of experts', 'expertMlp', {}, 1],
    ['one whose host counts tokens itself', 'expertMlp', { dispatcher: 'alltoall' }, 1.5],
    [
      'one with a fixed capacity, which nobody counts',
      'expertMlp',
      { dispatcher: 'alltoall', expertCapacity: 1 },
      0.25,
    ],
    ['one that a pipeline overlaps, in pieces', 'expertMlp', { overlapExpert: true, pipeline: 2 }, 2],
    [
      'one that a pipeline overlaps, whoever counts meanwhile',
      'expertMlp',
      { dispatcher: 'alltoall', overlapExpert: true, pipeline: 2 },
      2,
    ],
    ['one that is overlapped without a pipeline', 'expertMlp', { overlapExpert: true }, 1],
    ['one whose router is a graph', 'expertMlp', { cudaGraphs: 'partial' }, 0.8],
    ['attention that is a graph', 'attention', { cudaGraphs: 'partial' }, 0.05],
    ['a mixer that is one', 'stateSpace', { cudaGraphs: 'partial' }, 0.07],
    ['attention beside graphs of the router', 'attention', { cudaGraphs: 'partial', graphedParts: ['router'] }, 0.5],
    [
      'experts beside graphs of attention and mixers',
      'expertMlp',
      { cudaGraphs: 'partial', graphedParts: ['attention', 'stateSpace'] },
      1,
    ],
  ])('takes a share of what a layer does: %s', (_sentence, block, changes, want) => {
    const model = aModel(block === 'stateSpace' ? MIXERS : { experts: EXPERTS });
    const candidate = { dispatcher: 'hybridep' as const, ...changes };
    const costs = blockCostsOf(aRun({ model, cluster: aCluster(8, { gpu: GPU }), candidate }), CONSTANTS);
    expect(costs[block].forwardS).toBeCloseTo(want, 9);
  });

  it.each<[string, Partial<CandidateLayout>, number]>([
    ['all experts of a rank, one by one', {}, 1 + 4 * 0.1],
    ['only those of a rank', { expert: 2, data: 2 }, 1 + 2 * 0.1],
    ['and not in a graph of the router', { cudaGraphs: 'partial' }, 0.8 + 4 * 0.1],
    ['but in one of the whole iteration', { cudaGraphs: 'full' }, 0.1 * (1 + 4 * 0.1)],
    ['sooner with a fixed capacity', { expertCapacity: 1 }, 0.25 * (1 + 4 * 0.1)],
  ])('takes what products of experts take: %s', (_sentence, changes, want) => {
    expect(ofExpertsS(changes)).toBeCloseTo(want, 9);
  });

  it('takes longer for experts whose operands are cast', () => {
    expect(ofExpertsS({}, 'mxfp8')).toBeCloseTo(1 + 4 * 0.3, 9);
  });

  it.each<[string, Partial<CandidateLayout>, number]>([
    ['a dense MLP more for shared experts', {}, 1 + 0.5 + 0.5],
    ['that are in a graph of the router, as one of two projections is', { cudaGraphs: 'partial' }, 0.8 + 0.075 + 0.25],
    ['with all else in one of the whole iteration', { cudaGraphs: 'full' }, 0.1 * (1 + 0.5 + 0.5)],
  ])('takes %s, and half a layer for projections to latents and back', (_sentence, changes, want) => {
    const candidate = { dispatcher: 'hybridep' as const, ...changes };
    const model = aModel({ experts: { ...EXPERTS, sharedFfnHiddenSize: 8, latentSize: 8 } });
    const costs = blockCostsOf(aRun({ model, cluster: aCluster(8, { gpu: GPU }), candidate }), CONSTANTS);
    expect(costs.expertMlp.forwardS).toBeCloseTo(want, 9);
  });

  /** A byte of memory takes a second: of 8 tokens of 16 elements that become 16 rows 768, back as many, and the router 640. */
  it.each<[string, Partial<CandidateLayout>, number]>([
    ['the way to the experts alone where it waits for counts', {}, softMax(768, 1000) + 768 + 640],
    ['all that the GPU does with a fixed capacity', { expertCapacity: 1 }, softMax(2176, 1000)],
    ['and where another pass is computed meanwhile', { overlapExpert: true }, softMax(2176, 1000)],
    ['and in a graph of the whole iteration', { cudaGraphs: 'full' }, softMax(2176, 100)],
  ])('of a layer of experts lies beside %s', (_sentence, changes, want) => {
    const candidate = { dispatcher: 'hybridep' as const, ...changes };
    const gpu = { ...GPU, memoryTbPerS: 1e-12 };
    const run = aRun({ model: aModel({ experts: EXPERTS }), cluster: aCluster(8, { gpu }), candidate });
    const constants = { ...CONSTANTS, hostExpertS: 1000, hostCapacity: 1, routingFactor: 1 };
    expect(blockCostsOf(run, constants).expertMlp.forwardS).toBeCloseTo(want, 6);
  });

  it('takes twice as long for attention with latents, which launches twice as many kernels', () => {
    const latentAttention = { queryRank: 8, keyValueRank: 4, nopeHeadDim: 4, ropeHeadDim: 2, valueHeadDim: 4 };
    const run = aRun({ model: aModel({ latentAttention }), cluster: aCluster(8, { gpu: GPU }) });
    expect(blockCostsOf(run, CONSTANTS).attention.forwardS).toBeCloseTo(1, 9);
  });
});
