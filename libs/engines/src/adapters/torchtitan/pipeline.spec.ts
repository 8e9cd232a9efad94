import { changesOfTitan, type TitanChange } from '../../testing/titan-changes.ts';

const trained = (values: object): TitanChange => ({ training: { steps: 1000, globalBatchSize: 64, ...values } });
const SIZES = {
  layers: 8,
  hiddenSize: 256,
  attentionHeads: 8,
  gatedMlp: true,
  vocabularySize: 512,
  sequenceLength: 1024,
};
const layout = (values: object): TitanChange => ({ layout: values });

it.each<[string, TitanChange, readonly string[]]>([
  [
    'two stages, in the order of their names',
    layout({ pipelineParallelDegree: 2 }),
    [
      'settings.parallelism.pipeline_parallel_degree: 2',
      'settings.parallelism.pipeline_parallel_schedule: "1F1B"',
      'settings.parallelism.pipeline_parallel_microbatch_size: 1',
      'settings.parallelism.module_fqns_per_model_part: [["tok_embeddings","layers.0","layers.1","layers.2","layers.3"],["layers.4","layers.5","layers.6","layers.7","norm","lm_head"]]',
      'settings.training.local_batch_size: 16',
      'note: Only ranks of the last stage know the loss; other ranks log -1.',
      'without settings.parallelism.pipeline_parallel_degree: 1',
      'without settings.training.local_batch_size: 1',
    ],
  ],
  [
    'stages that do not divide the layers, of which the first hold one more',
    layout({ pipelineParallelDegree: 3 }),
    [
      'settings.parallelism.pipeline_parallel_degree: 3',
      'settings.parallelism.pipeline_parallel_schedule: "1F1B"',
      'settings.parallelism.pipeline_parallel_microbatch_size: 1',
      'settings.parallelism.module_fqns_per_model_part: [["tok_embeddings","layers.0","layers.1","layers.2"],["layers.3","layers.4","layers.5"],["layers.6","layers.7","norm","lm_head"]]',
      'settings.training.local_batch_size: 16',
      'note: Only ranks of the last stage know the loss; other ranks log -1.',
      'without settings.parallelism.pipeline_parallel_degree: 1',
      'without settings.training.local_batch_size: 1',
    ],
  ],
  [
    'two chunks',
    layout({ pipelineParallelDegree: 2, pipeline: { chunksPerRank: 2 } }),
    [
      'settings.parallelism.pipeline_parallel_degree: 2',
      'settings.parallelism.pipeline_parallel_schedule: "Interleaved1F1B"',
      'settings.parallelism.pipeline_parallel_microbatch_size: 1',
      'settings.parallelism.module_fqns_per_model_part: [["tok_embeddings","layers.0","layers.1"],["layers.2","layers.3"],["layers.4","layers.5"],["layers.6","layers.7","norm","lm_head"]]',
      'settings.training.local_batch_size: 16',
      'note: Only ranks of the last stage know the loss; other ranks log -1.',
      'without settings.parallelism.pipeline_parallel_degree: 1',
      'without settings.training.local_batch_size: 1',
    ],
  ],
  [
    'a schedule without bubbles',
    layout({ pipelineParallelDegree: 2, pipeline: { schedule: 'zbv', chunksPerRank: 2 } }),
    [
      'settings.parallelism.pipeline_parallel_degree: 2',
      'settings.parallelism.pipeline_parallel_schedule: "ZBVZeroBubble"',
      'settings.parallelism.pipeline_parallel_microbatch_size: 1',
      'settings.parallelism.module_fqns_per_model_part: [["tok_embeddings","layers.0","layers.1"],["layers.2","layers.3"],["layers.4","layers.5"],["layers.6","layers.7","norm","lm_head"]]',
      'settings.training.local_batch_size: 16',
      'note: Only ranks of the last stage know the loss; other ranks log -1.',
      'without settings.parallelism.pipeline_parallel_degree: 1',
      'without settings.training.local_batch_size: 1',
    ],
  ],
  [
    'all forward passes first',
    layout({ pipelineParallelDegree: 2, pipeline: { schedule: 'gpipe' } }),
    [
      'settings.parallelism.pipeline_parallel_degree: 2',
      'settings.parallelism.pipeline_parallel_schedule: "GPipe"',
      'settings.parallelism.pipeline_parallel_microbatch_size: 1',
      'settings.parallelism.module_fqns_per_model_part: [["tok_embeddings","layers.0","layers.1","layers.2","layers.3"],["layers.4","layers.5","layers.6","layers.7","norm","lm_head"]]',
      'settings.training.local_batch_size: 16',
      'note: Only ranks of the last stage know the loss; other ranks log -1.',
      'without settings.parallelism.pipeline_parallel_degree: 1',
      'without settings.training.local_batch_size: 1',
    ],
  ],
  [
    'breadth first',
    layout({ pipelineParallelDegree: 2, pipeline: { schedule: 'looped-bfs', chunksPerRank: 2 } }),
    [
      'settings.parallelism.pipeline_parallel_degree: 2',
      'settings.parallelism.pipeline_parallel_schedule: "LoopedBFS"',
      'settings.parallelism.pipeline_parallel_microbatch_size: 1',
      'settings.parallelism.module_fqns_per_model_part: [["tok_embeddings","layers.0","layers.1"],["layers.2","layers.3"],["layers.4","layers.5"],["layers.6","layers.7","norm","lm_head"]]',
      'settings.training.local_batch_size: 16',
      'note: Only ranks of the last stage know the loss; other ranks log -1.',
      'without settings.parallelism.pipeline_parallel_degree: 1',
      'without settings.training.local_batch_size: 1',
    ],
  ],
  [
    'two directions',
    layout({ pipelineParallelDegree: 2, pipeline: { schedule: 'dualpipe-v', chunksPerRank: 2 } }),
    [
      'settings.parallelism.pipeline_parallel_degree: 2',
      'settings.parallelism.pipeline_parallel_schedule: "DualPipeV"',
      'settings.parallelism.pipeline_parallel_microbatch_size: 1',
      'settings.parallelism.module_fqns_per_model_part: [["tok_embeddings","layers.0","layers.1"],["layers.2","layers.3"],["layers.4","layers.5"],["layers.6","layers.7","norm","lm_head"]]',
      'settings.training.local_batch_size: 16',
      'note: Only ranks of the last stage know the loss; other ranks log -1.',
      'without settings.parallelism.pipeline_parallel_degree: 1',
      'without settings.training.local_batch_size: 1',
    ],
  ],
  [
    'a schedule of a file',
    layout({ pipelineParallelDegree: 2, pipeline: { schedule: 'schedule-file', scheduleFile: '/s.csv' } }),
    [
      'settings.parallelism.pipeline_parallel_degree: 2',
      'settings.parallelism.pipeline_parallel_schedule: "1F1B"',
      'settings.parallelism.pipeline_parallel_schedule_csv: "/s.csv"',
      'settings.parallelism.pipeline_parallel_microbatch_size: 1',
      'settings.parallelism.module_fqns_per_model_part: [["tok_embeddings","layers.0","layers.1","layers.2","layers.3"],["layers.4","layers.5","layers.6","layers.7","norm","lm_head"]]',
      'settings.training.local_batch_size: 16',
      'note: Only ranks of the last stage know the loss; other ranks log -1.',
      'without settings.parallelism.pipeline_parallel_degree: 1',
      'without settings.training.local_batch_size: 1',
    ],
  ],
  [
    'listed stages',
    layout({
      pipelineParallelDegree: 2,
      pipeline: {
        stages: [
          { layers: 5, embedding: true },
          { layers: 3, loss: true },
        ],
      },
    }),
    [
      'settings.parallelism.pipeline_parallel_degree: 2',
      'settings.parallelism.pipeline_parallel_schedule: "1F1B"',
      'settings.parallelism.pipeline_parallel_microbatch_size: 1',
      'settings.parallelism.module_fqns_per_model_part: [["tok_embeddings","layers.0","layers.1","layers.2","layers.3","layers.4"],["layers.5","layers.6","layers.7","norm","lm_head"]]',
      'settings.training.local_batch_size: 16',
      'note: Only ranks of the last stage know the loss; other ranks log -1.',
      'without settings.parallelism.pipeline_parallel_degree: 1',
      'without settings.training.local_batch_size: 1',
    ],
  ],
])('a pipeline becomes settings of TorchTitan: %s', (_sentence, change, want) => {
  expect(changesOfTitan(change, { model: SIZES })).toEqual(want);
});

it.each<[string, TitanChange, readonly string[]]>([
  [
    'chunks without a pipeline',
    layout({ pipeline: { chunksPerRank: 2 } }),
    [
      'pipeline-needs-stages',
      'layout.pipeline.chunksPerRank',
      'layout.pipeline.chunksPerRank describes a pipeline, and layout.pipelineParallelDegree is 1',
      'leave layout.pipeline.chunksPerRank out',
    ],
  ],
  [
    'a schedule without a pipeline',
    layout({ pipeline: { schedule: '1f1b' } }),
    [
      'pipeline-needs-stages',
      'layout.pipeline.schedule',
      'layout.pipeline.schedule describes a pipeline, and layout.pipelineParallelDegree is 1',
      'leave layout.pipeline.schedule out',
    ],
  ],
  [
    'chunks of the plain schedule',
    layout({ pipelineParallelDegree: 2, pipeline: { schedule: '1f1b', chunksPerRank: 2 } }),
    [
      'schedule-chunks',
      'layout.pipeline.chunksPerRank',
      "PyTorch's 1F1B does not run with layout.pipeline.chunksPerRank 2",
      'set it to 1, or the schedule to interleaved-1f1b',
    ],
  ],
  [
    'one chunk of the interleaved schedule',
    layout({ pipelineParallelDegree: 2, pipeline: { schedule: 'interleaved-1f1b' } }),
    [
      'schedule-chunks',
      'layout.pipeline.chunksPerRank',
      "PyTorch's Interleaved1F1B does not run with layout.pipeline.chunksPerRank 1",
      'set it to 2',
    ],
  ],
  [
    'three chunks where a schedule has two',
    layout({ pipelineParallelDegree: 2, pipeline: { schedule: 'zbv', chunksPerRank: 3 } }),
    [
      'schedule-chunks',
      'layout.pipeline.chunksPerRank',
      "PyTorch's ZBVZeroBubble does not run with layout.pipeline.chunksPerRank 3",
      'set it to 2',
    ],
  ],
  [
    'an embedding in the second stage',
    layout({
      pipelineParallelDegree: 2,
      pipeline: { stages: [{ layers: 4 }, { layers: 4, embedding: true, loss: true }] },
    }),
    [
      'torchtitan-stages',
      'layout.pipeline.stages.1',
      'torchtitan has the embedding in the first stage, the output in the last and multi-token prediction in none',
      'give embedding to the first stage and loss to the last, and no mtpLayers',
    ],
  ],
  [
    'a stage of later tokens',
    layout({
      pipelineParallelDegree: 2,
      pipeline: {
        stages: [
          { layers: 4, embedding: true },
          { layers: 4, mtpLayers: 1, loss: true },
        ],
      },
    }),
    [
      'torchtitan-stages',
      'layout.pipeline.stages.1',
      'torchtitan has the embedding in the first stage, the output in the last and multi-token prediction in none',
      'give embedding to the first stage and loss to the last, and no mtpLayers',
    ],
  ],
  [
    'tied embeddings',
    { model: { ...SIZES, tiedEmbeddings: true }, layout: { pipelineParallelDegree: 2 } },
    [
      'torchtitan-ties-no-stages',
      'layout.pipelineParallelDegree',
      'torchtitan ties embedding and output in one stage only, and the model has model.tiedEmbeddings',
      'set it to 1, or train a model whose embeddings are not tied',
    ],
  ],
  [
    'fewer micro-batches than stages',
    { ...trained({ globalBatchSize: 4 }), layout: { pipelineParallelDegree: 2 } },
    [
      'schedule-passes',
      'training.globalBatchSize',
      "PyTorch's 1F1B does not run with 1 micro-batches on 2 ranks",
      'use one that makes 2 micro-batches of layout.dataParallelDegree',
    ],
  ],
  [
    'fewer micro-batches than two directions need',
    {
      ...trained({ globalBatchSize: 12 }),
      layout: { pipelineParallelDegree: 2, pipeline: { schedule: 'dualpipe-v', chunksPerRank: 2 } },
    },
    [
      'schedule-passes',
      'training.globalBatchSize',
      "PyTorch's DualPipeV does not run with 3 micro-batches on 2 ranks",
      'use one that makes 8 micro-batches of layout.dataParallelDegree',
    ],
  ],
  [
    'micro-batches that fill no whole rounds',
    { ...trained({ globalBatchSize: 20 }), layout: { pipelineParallelDegree: 2, pipeline: { chunksPerRank: 2 } } },
    [
      'schedule-passes',
      'training.globalBatchSize',
      "PyTorch's Interleaved1F1B does not run with 5 micro-batches on 2 ranks",
      'use one that makes 6 micro-batches of layout.dataParallelDegree',
    ],
  ],
])('a pipeline that TorchTitan cannot run is refused: %s', (_sentence, change, want) => {
  expect(changesOfTitan(change, { model: SIZES })).toEqual(want);
});
