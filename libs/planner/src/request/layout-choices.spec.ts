import { isDomainError } from '@coxswain/domain-error';
import type { ParallelLayout } from '@coxswain/layout';
import type { CandidateLayout } from '../facts.ts';
import { aCandidate } from '../testing/candidates.ts';
import { layoutOfCandidate, candidateOfLayout } from './layout-conversion.ts';

const EXPERTS = { count: 8, topK: 2, ffnHiddenSize: 64, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };
const DEGREES = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 };

const read = (layout: Partial<ParallelLayout>, model: { experts?: typeof EXPERTS } = {}): CandidateLayout =>
  candidateOfLayout({ ...DEGREES, ...layout }, model, 1);

describe('what the models read of a layout', () => {
  it.each<[string, Partial<ParallelLayout>, Partial<CandidateLayout>]>([
    ['degrees alone', {}, aCandidate()],
    [
      'ring attention in its other names',
      { contextParallelDegree: 2, sequence: { contextAlgorithm: 'dist-flash' } },
      { context: 2, contextAlgorithm: 'ring' },
    ],
    [
      'stage 1 is the distributed optimizer',
      { states: { zeroStage: 1 } },
      { zeroStage: 1, zeroImplementation: 'distopt' },
    ],
    ['stage 2 is FSDP', { states: { zeroStage: 2 } }, { zeroStage: 2, zeroImplementation: 'fsdp' }],
    [
      'unless DeepSpeed is named',
      { states: { zeroStage: 2, implementation: 'deepspeed' } },
      { zeroImplementation: 'deepspeed' },
    ],
    ['a shard degree of its own', { dataParallelDegree: 8, dataParallelShardDegree: 4 }, { data: 8, shardGroup: 4 }],
    [
      'full recomputation of all layers',
      { memory: { recompute: { mode: 'full', method: 'uniform', layers: 1 } } },
      { recompute: 'full' },
    ],
    [
      'or of some per chunk',
      { memory: { recompute: { mode: 'full', method: 'block', layers: 3 } } },
      { recompute: 'full', recomputeLayersPerChunk: 3 },
    ],
    [
      'selected modules',
      { memory: { recompute: { mode: 'selective', modules: ['mlp', 'layernorm'] } } },
      { recompute: 'selective', recomputeModules: ['mlp', 'layernorm'] },
    ],
    [
      'shares in host memory',
      { memory: { offload: [{ what: 'optimizer', fraction: 0.5 }, { what: 'activations' }] } },
      { offloadOptimizer: 0.5, offloadActivations: 1, offloadWeights: 0 },
    ],
    [
      'shares of one kind add up, to all of it at most',
      {
        memory: {
          offload: [
            { what: 'parameters', fraction: 0.75 },
            { what: 'parameters', fraction: 0.75 },
          ],
        },
      },
      { offloadWeights: 1 },
    ],
    [
      'what is overlapped',
      { communication: { overlapGradReduce: true, overlapTensorParallel: true } },
      { overlapGradReduce: true, overlapTensor: true, overlapParamGather: false, overlapExpert: false },
    ],
    ['graphs of the GPU', { kernel: { cudaGraphs: 'partial' } }, { cudaGraphs: 'partial' }],
    ['the order of the ranks', { rankOrder: ['tensor', 'context', 'pipeline', 'data'] }, { rankOrder: 'tp-cp-pp-dp' }],
    [
      'stages with their ends',
      {
        pipelineParallelDegree: 2,
        pipeline: {
          stages: [
            { layers: 3, embedding: true },
            { layers: 5, loss: true, mtpLayers: 1 },
          ],
        },
      },
      {
        stages: [
          { layers: 3, embedding: true, loss: false, mtpLayers: 0 },
          { layers: 5, embedding: false, loss: true, mtpLayers: 1 },
        ],
      },
    ],
  ])('%s', (_, layout, want) => {
    expect(read(layout)).toMatchObject(want);
  });

  it.each<[string, ParallelLayout['expert'], Partial<CandidateLayout>]>([
    [
      'degrees and capacity',
      { expertParallelDegree: 4, expertTensorParallelDegree: 1, capacityFactor: 1.25 },
      { expert: 4, expertTensor: 1, expertCapacity: 1.25 },
    ],
    [
      'a dispatcher that moves what all-to-all moves',
      { expertParallelDegree: 4, dispatcher: 'alltoall-2d' },
      { dispatcher: 'alltoall' },
    ],
    ['one with kernels of its own', { expertParallelDegree: 4, dispatcher: 'deepep' }, { dispatcher: 'deepep' }],
  ])('of experts: %s', (_, expert, want) => {
    expect(read({ expert }, { experts: EXPERTS })).toMatchObject(want);
  });

  it('nothing of experts, for a model that has none', () => {
    expect(read({ tensorParallelDegree: 4, expert: { expertParallelDegree: 8 } })).toMatchObject({
      expert: 1,
      expertTensor: 1,
    });
  });
});

describe('what neither time nor memory model covers', () => {
  const violationsOf = (layout: Partial<ParallelLayout>) => {
    try {
      read(layout);
    } catch (error) {
      if (isDomainError(error, 'INVALID_LAYOUT')) return error.violations;
      throw error;
    }
    throw new Error('nothing was refused');
  };

  it.each<[string, Partial<ParallelLayout>, string]>([
    [
      '/weightShardDegree',
      { weightShardDegree: 4 },
      '4 has no time or memory model; predict it with states.zeroStage 3',
    ],
    [
      '/expert/weightShardDegree',
      { expert: { expertParallelDegree: 1, weightShardDegree: 2 } },
      '2 has no time or memory model; predict it with states.zeroStage 3',
    ],
    [
      '/memory/recompute/mode',
      { memory: { recompute: { mode: 'budget' } } },
      'budget has no time or memory model; predict it as selective with the modules that are recomputed',
    ],
    [
      '/rankOrder',
      { rankOrder: ['data', 'pipeline', 'context', 'expert', 'tensor'] },
      'data, pipeline, context, expert, tensor has no time or memory model; tensor must come first, then context, data and pipeline',
    ],
  ])('%s is refused with its value and what to write instead', (pointer, layout, detail) => {
    expect(violationsOf(layout)).toEqual([{ pointer, detail }]);
  });

  it('is named all at once', () => {
    const pointers = violationsOf({
      weightShardDegree: 2,
      pipeline: { schedule: 'looped-bfs' },
      memory: { offload: [{ what: 'optimizer' }, { what: 'layers', windowLayers: 2 }] },
    }).map(({ pointer }) => pointer);
    expect(pointers).toEqual(['/pipeline/schedule', '/weightShardDegree', '/memory/offload/1/what']);
  });

  it('a degree of one is no such choice', () => {
    expect(() =>
      read({ weightShardDegree: 1, expert: { expertParallelDegree: 1, weightShardDegree: 1 }, perLayer: [] }),
    ).not.toThrow();
  });
});

describe('the layout of a candidate', () => {
  it('puts experts in front of data where the order of ranks is named', () => {
    const candidate = aCandidate({ rankOrder: 'tp-cp-pp-dp', pipeline: 2, data: 2 });
    expect(layoutOfCandidate(candidate, {}).rankOrder).toEqual(['tensor', 'context', 'pipeline', 'data']);
    expect(layoutOfCandidate(candidate, { experts: EXPERTS }).rankOrder).toEqual([
      'tensor',
      'context',
      'pipeline',
      'expert',
      'data',
    ]);
  });

  it('asks for an optimizer that knows where its states are, where some are in host memory', () => {
    const candidate = aCandidate({ data: 4, zeroStage: 1, zeroImplementation: 'distopt', offloadOptimizer: 1 });
    expect(layoutOfCandidate(candidate, {}, 64)).toMatchObject({
      states: { zeroStage: 1, implementation: 'distributed-optimizer', precisionAwareOptimizer: true },
      memory: { offload: [{ what: 'optimizer', fraction: 1 }], hostMemoryGibPerGpu: 64 },
    });
  });

  it('speaks of host memory only where something lives there', () => {
    expect(layoutOfCandidate(aCandidate(), {}, 64)).not.toHaveProperty('memory');
  });
});
