import { type GridPoint, gridPointOf, microBatchesOf } from './grid-point.ts';
import type { LayoutFacts, ParallelLayout } from './index.ts';
import { aLayout } from './testing/index.ts';

const NOTHING_SAID: GridPoint = {
  tensor: 1,
  weightShard: 1,
  context: 1,
  pipeline: 1,
  data: 1,
  shardGroup: 1,
  expert: 1,
  expertTensor: 1,
  expertWeightShard: 1,
  sequenceParallel: false,
  contextAlgorithm: 'ring',
  contextBalanced: true,
  schedule: '1f1b',
  chunks: 1,
  vocabulary: 'end-stages',
  microBatchSize: undefined,
};

describe('the point of a layout', () => {
  it.each<[sentence: string, layout: Partial<ParallelLayout>, want: Partial<GridPoint>]>([
    ['where nothing is said has one way of all', {}, {}],
    [
      'has the degrees as they are told',
      { tensorParallelDegree: 2, weightShardDegree: 3, pipelineParallelDegree: 4 },
      { tensor: 2, weightShard: 3, pipeline: 4 },
    ],
    [
      'shards over data and context ranks unless told otherwise',
      { dataParallelDegree: 4, contextParallelDegree: 2 },
      { data: 4, context: 2, shardGroup: 8 },
    ],
    [
      'shards over as many as are told',
      { dataParallelDegree: 4, dataParallelShardDegree: 2 },
      { data: 4, shardGroup: 2 },
    ],
    [
      'splits experts as the dense layers are split',
      { tensorParallelDegree: 4, expert: { expertParallelDegree: 8 } },
      { tensor: 4, expert: 8, expertTensor: 4 },
    ],
    [
      'splits experts as told',
      {
        tensorParallelDegree: 4,
        expert: { expertParallelDegree: 8, expertTensorParallelDegree: 2, weightShardDegree: 3 },
      },
      { tensor: 4, expert: 8, expertTensor: 2, expertWeightShard: 3 },
    ],
    ['splits no experts where there are none', { tensorParallelDegree: 4 }, { tensor: 4, expertTensor: 1 }],
    ['splits norms by tokens where told', { sequence: { sequenceParallel: true } }, { sequenceParallel: true }],
    [
      'takes the algorithm of attention before that of all kinds',
      { sequence: { contextAlgorithm: 'ring', perLayerKind: { attention: 'ulysses' } } },
      { contextAlgorithm: 'ulysses' },
    ],
    [
      'does not take the algorithm of linear attention for that of attention',
      { sequence: { perLayerKind: { linearAttention: 'state-scan' } } },
      { contextAlgorithm: 'ring' },
    ],
    [
      'keeps the all-to-all part',
      { sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 4 } },
      { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 4 },
    ],
    [
      'interleaves where a rank holds several chunks',
      { pipeline: { chunksPerRank: 2 } },
      { chunks: 2, schedule: 'interleaved-1f1b' },
    ],
    [
      'keeps a schedule that is told, with several chunks too',
      { pipeline: { chunksPerRank: 2, schedule: 'zbv' } },
      { chunks: 2, schedule: 'zbv' },
    ],
    ['keeps the group of micro-batches', { pipeline: { microBatchGroupSize: 8 } }, { microBatchGroup: 8 }],
    ['keeps listed stages', { pipeline: { stages: [{ layers: 3 }] } }, { stages: [{ layers: 3 }] }],
    ['keeps the place of the vocabulary', { pipeline: { vocabulary: 'interlaced' } }, { vocabulary: 'interlaced' }],
  ])('%s', (_sentence, layout, want) => {
    expect(gridPointOf(aLayout(layout), {})).toEqual({ ...NOTHING_SAID, ...want });
  });

  it('has the micro-batch of the facts', () => {
    expect(gridPointOf(aLayout(), { microBatchSize: 4 }).microBatchSize).toBe(4);
  });

  it.each<[ParallelLayout['sequence'], boolean]>([
    [{ contextAlgorithm: 'ring' }, true],
    [{ contextAlgorithm: 'ulysses' }, true],
    [{ contextAlgorithm: 'allgather' }, true],
    [{ contextAlgorithm: 'ring-self-attention' }, false],
    [{ contextAlgorithm: 'dist-flash' }, false],
    [{ contextAlgorithm: 'state-allgather' }, false],
    [{ contextAlgorithm: 'state-scan' }, false],
    [{ causalBalance: 'head-tail' }, true],
    [{ causalBalance: 'zigzag' }, true],
    [{ causalBalance: 'none' }, false],
    [{ causalBalance: 'ptrr' }, false],
    [{ causalBalance: 'helper' }, false],
    [{ contextAlgorithm: 'dist-flash', causalBalance: 'zigzag' }, true],
  ])('with %j a rank takes an early and a late piece of a sample: %s', (sequence, want) => {
    const layout = { ...aLayout(), ...(sequence === undefined ? {} : { sequence }) };
    expect(gridPointOf(layout, {}).contextBalanced).toBe(want);
  });
});

describe('micro-batches of one data-parallel rank per step', () => {
  it.each<[sentence: string, layout: Partial<ParallelLayout>, facts: LayoutFacts, want: number | undefined]>([
    ['all samples on one rank', {}, { globalBatchSize: 64, microBatchSize: 1 }, 64],
    ['two samples at a time', {}, { globalBatchSize: 64, microBatchSize: 2 }, 32],
    ['shared by four ranks', { dataParallelDegree: 4 }, { globalBatchSize: 64, microBatchSize: 2 }, 8],
    [
      'shared by weight shards too',
      { dataParallelDegree: 4, weightShardDegree: 2 },
      { globalBatchSize: 64, microBatchSize: 2 },
      4,
    ],
    [
      'not shared by context, tensor or pipeline ranks',
      { tensorParallelDegree: 2, contextParallelDegree: 2, pipelineParallelDegree: 2 },
      { globalBatchSize: 64, microBatchSize: 1 },
      64,
    ],
    [
      'not known where they do not divide',
      { dataParallelDegree: 3 },
      { globalBatchSize: 64, microBatchSize: 1 },
      undefined,
    ],
    ['not known without a batch', {}, { microBatchSize: 1 }, undefined],
    ['not known without the size of a micro-batch', {}, { globalBatchSize: 64 }, undefined],
  ])('%s', (_sentence, layout, facts, want) => {
    expect(microBatchesOf(gridPointOf(aLayout(layout), facts), facts)).toBe(want);
  });
});
