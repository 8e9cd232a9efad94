import { all, type Change, changesOf, degrees, over, setting } from './testing/index.ts';
const grid = (...changes: readonly Change[]): Change => all(setting('model', { layers: 16 }), ...changes);
const two = degrees({ pipelineParallelDegree: 2 });

it.each<[string, Change, readonly string[]]>([
  [
    'chunks',
    grid(two, over('pipeline', { chunksPerRank: 4 })),
    [
      '--num-layers 16',
      '--pipeline-model-parallel-size 2',
      '--num-virtual-stages-per-pipeline-rank 4',
      'without --num-layers 8',
      'without --pipeline-model-parallel-size 1',
    ],
  ],
  [
    'chunks under the name of their schedule',
    grid(two, over('pipeline', { chunksPerRank: 2, schedule: 'interleaved-1f1b' })),
    [
      '--num-layers 16',
      '--pipeline-model-parallel-size 2',
      '--num-virtual-stages-per-pipeline-rank 2',
      'without --num-layers 8',
      'without --pipeline-model-parallel-size 1',
    ],
  ],
  [
    'groups of micro-batches',
    grid(two, over('pipeline', { chunksPerRank: 2, microBatchGroupSize: 8 })),
    [
      '--num-layers 16',
      '--pipeline-model-parallel-size 2',
      '--num-virtual-stages-per-pipeline-rank 2',
      '--microbatch-group-size-per-virtual-pipeline-stage 8',
      'without --num-layers 8',
      'without --pipeline-model-parallel-size 1',
    ],
  ],
  [
    'stages that are listed',
    grid(
      two,
      over('pipeline', {
        stages: [
          { layers: 9, embedding: true },
          { layers: 7, loss: true },
        ],
      }),
    ),
    [
      '--num-layers 16',
      '--pipeline-model-parallel-size 2',
      '--pipeline-model-parallel-layout Et*9|t*7L',
      'without --num-layers 8',
      'without --pipeline-model-parallel-size 1',
    ],
  ],
  [
    'stages of one layer, and of the loss alone',
    grid(
      two,
      over('pipeline', {
        chunksPerRank: 2,
        stages: [{ layers: 1, embedding: true }, { layers: 14 }, { layers: 1 }, { layers: 0, loss: true }],
      }),
    ),
    [
      '--num-layers 16',
      '--pipeline-model-parallel-size 2',
      '--pipeline-model-parallel-layout Et|t*14|t|L',
      'without --num-layers 8',
      'without --pipeline-model-parallel-size 1',
    ],
  ],
  [
    'a stage of later tokens',
    all(
      setting('model', { layers: 8, mtpLayers: 1 }),
      two,
      over('pipeline', {
        stages: [
          { layers: 5, embedding: true },
          { layers: 3, mtpLayers: 1, loss: true },
        ],
      }),
    ),
    [
      '--mtp-num-layers 1',
      '--pipeline-model-parallel-size 2',
      '--pipeline-model-parallel-layout Et*5|t*3mL',
      'without --pipeline-model-parallel-size 1',
    ],
  ],
  [
    'embedding and output, each counted as a layer',
    all(setting('model', { layers: 14 }), two, over('pipeline', { vocabulary: 'counted-as-layer' })),
    [
      '--num-layers 14',
      '--pipeline-model-parallel-size 2',
      '--account-for-embedding-in-pipeline-split',
      '--account-for-loss-in-pipeline-split',
      'without --num-layers 8',
      'without --pipeline-model-parallel-size 1',
    ],
  ],
])('a pipeline becomes options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'another schedule',
    grid(two, over('pipeline', { schedule: 'gpipe' })),
    [
      'schedule-follows-chunks',
      'layout.pipeline.schedule',
      'Megatron-LM runs 1f1b with pipeline.chunksPerRank 1, not gpipe',
      'leave pipeline.schedule out',
    ],
  ],
  [
    'the interleaved schedule of one chunk',
    grid(two, over('pipeline', { schedule: 'interleaved-1f1b' })),
    [
      'schedule-follows-chunks',
      'layout.pipeline.schedule',
      'Megatron-LM runs 1f1b with pipeline.chunksPerRank 1, not interleaved-1f1b',
      'leave pipeline.schedule out',
    ],
  ],
  [
    'the plain schedule of two chunks',
    grid(two, over('pipeline', { schedule: '1f1b', chunksPerRank: 2 })),
    [
      'schedule-follows-chunks',
      'layout.pipeline.schedule',
      'Megatron-LM runs interleaved-1f1b with pipeline.chunksPerRank 2, not 1f1b',
      'leave pipeline.schedule out',
    ],
  ],
  [
    'groups of micro-batches of one chunk',
    grid(two, over('pipeline', { microBatchGroupSize: 2 })),
    [
      'group-size-needs-chunks',
      'layout.pipeline.microBatchGroupSize',
      'only the interleaved schedule has groups of micro-batches, and there is one chunk per rank',
      'leave pipeline.microBatchGroupSize out, or give pipeline.chunksPerRank',
    ],
  ],
  [
    'listed stages beside a counted vocabulary',
    grid(
      two,
      over('pipeline', {
        vocabulary: 'counted-as-layer',
        stages: [
          { layers: 8, embedding: true },
          { layers: 8, loss: true },
        ],
      }),
    ),
    [
      'stages-or-counted-vocabulary',
      'layout.pipeline.vocabulary',
      'pipeline.stages places embedding and output layer, so they cannot be counted as layers as well',
      'leave pipeline.vocabulary out, or pipeline.stages',
    ],
  ],
  [
    'a vocabulary that all stages share',
    grid(two, over('pipeline', { vocabulary: 'sharded-over-pp' })),
    [
      'engine-lacks-option',
      'layout.pipeline.vocabulary',
      'engine megatron-lm does not support pipeline.vocabulary sharded-over-pp',
      'use counted-as-layer, or engine vocabulary-parallelism',
    ],
  ],
  [
    'chunks of a pattern',
    all(
      two,
      setting('model', { layerPattern: 'MAMAMAMA', stateSpace: { stateSize: 64, heads: 16, headDim: 64, groups: 8 } }),
      over('pipeline', { chunksPerRank: 2 }),
    ),
    [
      'hybrid-has-even-stages',
      'layout.pipeline.chunksPerRank',
      'Megatron-LM takes no pipeline.chunksPerRank for a model that is given by a pattern of layers',
      'leave pipeline.chunksPerRank out: stages of equal length are what it has',
    ],
  ],
  [
    'a vocabulary counted as layers of a pattern',
    all(
      two,
      setting('model', {
        layers: 6,
        layerPattern: 'MAMAMA',
        stateSpace: { stateSize: 64, heads: 16, headDim: 64, groups: 8 },
      }),
      over('pipeline', { vocabulary: 'counted-as-layer' }),
    ),
    [
      'hybrid-has-even-stages',
      'layout.pipeline.vocabulary',
      'Megatron-LM cannot count the vocabulary as layers of a pattern',
      'leave pipeline.vocabulary out',
    ],
  ],
])('a pipeline that Megatron-LM lacks is refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});
