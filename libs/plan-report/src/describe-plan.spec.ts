import type { ParallelLayout } from '@coxswain/layout';
import { choicesOf, describeVerdict, formatDegrees } from './describe-plan.ts';

const LAYOUT: ParallelLayout = { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 4 };

describe('a plan in few words', () => {
  it.each<[string, Partial<ParallelLayout>, string]>([
    ['nothing beyond its degrees', {}, 'micro-batch 1, ZeRO-0, no recomputation'],
    [
      'no sharing of states where one rank has them',
      { dataParallelDegree: 1, states: { zeroStage: 1 }, memory: { offload: [{ what: 'optimizer' }] } },
      'micro-batch 1, no recomputation, 100 % of optimizer states on the host',
    ],
    [
      'sharing among ranks of a context',
      { dataParallelDegree: 1, contextParallelDegree: 2, states: { zeroStage: 1 } },
      'micro-batch 1, context by ring, ZeRO-1, no recomputation',
    ],
    ['a pipeline', { pipelineParallelDegree: 4 }, 'micro-batch 1, 1f1b, ZeRO-0, no recomputation'],
    [
      'chunks',
      { pipelineParallelDegree: 4, pipeline: { chunksPerRank: 3 } },
      'micro-batch 1, interleaved-1f1b x3, ZeRO-0, no recomputation',
    ],
    [
      'uneven stages',
      { pipelineParallelDegree: 2, pipeline: { stages: [{ layers: 19 }, { layers: 21 }] } },
      'micro-batch 1, 1f1b, 19+21 layers, ZeRO-0, no recomputation',
    ],
    [
      'many stages',
      {
        pipelineParallelDegree: 16,
        pipeline: { stages: Array.from({ length: 16 }, (_, k) => ({ layers: k < 8 ? 5 : 6 })) },
      },
      'micro-batch 1, 1f1b, 5 to 6 layers a stage, ZeRO-0, no recomputation',
    ],
    [
      'stages that hold an end of the model and no layer',
      {
        pipelineParallelDegree: 16,
        pipeline: {
          stages: [
            { layers: 0, embedding: true },
            ...Array.from({ length: 14 }, () => ({ layers: 1 })),
            { layers: 0, loss: true },
          ],
        },
      },
      'micro-batch 1, 1f1b, 1 layer a stage, embedding and output in stages without layers, ZeRO-0, no recomputation',
    ],
    [
      'context parallelism',
      { contextParallelDegree: 8, sequence: { contextAlgorithm: 'ulysses' } },
      'micro-batch 1, context by ulysses, ZeRO-0, no recomputation',
    ],
    [
      'hybrid sharding and full recomputation',
      { dataParallelShardDegree: 2, states: { zeroStage: 3 }, memory: { recompute: { mode: 'full' } } },
      'micro-batch 1, ZeRO-3, states in groups of 2, recomputing all',
    ],
    [
      'the usual order of ranks, written out',
      { rankOrder: ['tensor', 'context', 'expert', 'data', 'pipeline'] },
      'micro-batch 1, ZeRO-0, no recomputation',
    ],
    [
      'another order of ranks',
      { rankOrder: ['tensor', 'context', 'pipeline', 'data'] },
      'micro-batch 1, ZeRO-0, no recomputation, ranks tp-cp-pp-dp',
    ],
    [
      'selective recomputation and offloading',
      {
        memory: {
          recompute: { mode: 'selective', modules: ['moe', 'mlp'] },
          offload: [{ what: 'optimizer', fraction: 0.5 }],
        },
      },
      'micro-batch 1, ZeRO-0, recomputing moe, mlp, 50 % of optimizer states on the host',
    ],
  ])('%s', (_, overrides, want) => {
    expect(choicesOf({ layout: { ...LAYOUT, ...overrides }, microBatchSize: 1 })).toBe(want);
  });

  it('a peak near or above the capacity as what nobody should count on', () => {
    expect(describeVerdict('tight')).toBe('too tight to count on');
  });

  it('degrees as in every table', () => {
    expect(formatDegrees({ layout: { ...LAYOUT, expert: { expertParallelDegree: 8 } } })).toBe('tp2 x dp4 / ep8');
  });
});
