import type { PipelineStage } from '../pipeline-plan.ts';
import { type LegalCase, type RuleCase, showRules } from '../testing/rule-cases.ts';
import { pipelineDegreeRules } from './pipeline-degrees.ts';

const stages = (...layers: readonly number[]): PipelineStage[] => layers.map((count) => ({ layers: count }));
const repeated = (times: number, layers: number): readonly number[] => Array.from({ length: times }, () => layers);

const broken: readonly RuleCase[] = [
  {
    rule: 'pipelineDividesLayers',
    layout: { pipelineParallelDegree: 5 },
    message: 'pipelineParallelDegree 5 does not divide layers 32; the nearest that does is 4',
    waysOut: [{ layout: { pipelineParallelDegree: 4 } }],
  },
  {
    rule: 'pipelineDividesLayers',
    layout: { pipelineParallelDegree: 6, pipeline: { chunksPerRank: 2 } },
    facts: { globalBatchSize: 72 },
    message:
      'pipelineParallelDegree 6 times pipeline.chunksPerRank 2 is 12, which does not divide layers 32; the nearest pipelineParallelDegree that does is 4, or list pipeline.stages',
    waysOut: [
      { layout: { pipelineParallelDegree: 4 } },
      { layout: { pipeline: { chunksPerRank: 2, stages: stages(...repeated(8, 3), ...repeated(4, 2)) } } },
    ],
  },
  {
    rule: 'pipelineDividesLayers',
    layout: { pipelineParallelDegree: 8, pipeline: { chunksPerRank: 3 } },
    message:
      'pipelineParallelDegree 8 times pipeline.chunksPerRank 3 is 24, which does not divide layers 32; no pipelineParallelDegree does with that many chunks: list pipeline.stages',
    waysOut: [{ layout: { pipeline: { chunksPerRank: 3, stages: stages(...repeated(8, 2), ...repeated(16, 1)) } } }],
  },
  {
    rule: 'pipelineDividesLayers',
    layout: { pipelineParallelDegree: 4, pipeline: { vocabulary: 'counted-as-layer' } },
    message: 'pipelineParallelDegree 4 does not divide layers 32 plus 2 for the vocabulary; the nearest that does is 2',
    waysOut: [{ layout: { pipelineParallelDegree: 2 } }],
  },
  {
    rule: 'stagesCoverModel',
    layout: { pipelineParallelDegree: 2, pipeline: { stages: stages(16, 15) } },
    message: 'pipeline.stages hold 31 layers, but the model has 32; the last stage should hold 16',
    waysOut: [{ layout: { pipeline: { stages: stages(16, 16) } } }],
  },
  {
    rule: 'stagesCoverModel',
    layout: { pipelineParallelDegree: 2, pipeline: { stages: stages(40, 4) } },
    message: 'pipeline.stages hold 44 layers, but the model has 32; take 12 layers away',
    waysOut: [{ layout: { pipeline: { stages: stages(28, 4) } } }],
  },
  {
    rule: 'stagesCoverModel',
    layout: { pipelineParallelDegree: 4, pipeline: { stages: stages(16, 16) } },
    message: 'pipeline.stages lists 2 stages; pipelineParallelDegree 4 times chunksPerRank 1 needs 4',
    waysOut: [{ layout: { pipeline: { stages: stages(8, 8, 8, 8) } } }],
  },
  {
    rule: 'noStageIsEmpty',
    layout: { pipelineParallelDegree: 4, pipeline: { stages: stages(16, 0, 0, 16) } },
    message:
      'pipeline.stages: stage 1 and 1 more are empty (no layer, embedding or loss); move a layer to each, or list only the other 2',
    waysOut: [
      { layout: { pipeline: { stages: stages(15, 1, 1, 15) } } },
      { layout: { pipelineParallelDegree: 2, pipeline: { stages: stages(16, 16) } } },
    ],
  },
  {
    rule: 'stagesBeginWithEmbeddingAndEndWithLoss',
    layout: { pipelineParallelDegree: 2, pipeline: { stages: [{ layers: 16 }, { layers: 16, embedding: true }] } },
    message:
      'pipeline.stages place the embedding in stage 1 and the loss in no stage, and 0 of 0 MTP layers. The embedding belongs in stage 0, the loss in stage 1, and every MTP layer in one of them',
    waysOut: [
      {
        layout: {
          pipeline: {
            stages: [
              { layers: 16, embedding: true },
              { layers: 16, loss: true },
            ],
          },
        },
      },
    ],
  },
  {
    rule: 'stagesBeginWithEmbeddingAndEndWithLoss',
    layout: {
      pipelineParallelDegree: 2,
      pipeline: {
        stages: [
          { layers: 16, embedding: true },
          { layers: 16, loss: true },
        ],
      },
    },
    facts: { mtpLayers: 1 },
    message:
      'pipeline.stages place the embedding in stage 0 and the loss in stage 1, and 0 of 1 MTP layers. The embedding belongs in stage 0, the loss in stage 1, and every MTP layer in one of them',
    waysOut: [
      {
        layout: {
          pipeline: {
            stages: [
              { layers: 16, embedding: true },
              { layers: 16, loss: true, mtpLayers: 1 },
            ],
          },
        },
      },
    ],
  },
  {
    rule: 'chunksNeedPipeline',
    layout: { pipeline: { chunksPerRank: 2 } },
    message: 'pipeline.chunksPerRank 2 needs pipelineParallelDegree 2 or more; without a pipeline it is 1',
    waysOut: [{ layout: { pipelineParallelDegree: 2 } }, { layout: { pipeline: { chunksPerRank: 1 } } }],
  },
  {
    rule: 'scheduleTakesChunks',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'zbv', chunksPerRank: 4 } },
    message:
      'pipeline.chunksPerRank 4 is not supported by schedule zbv, which requires 2; the nearest is 2, or use schedule interleaved-1f1b',
    waysOut: [
      { layout: { pipeline: { schedule: 'zbv', chunksPerRank: 2 } } },
      { layout: { pipeline: { schedule: 'interleaved-1f1b', chunksPerRank: 4 } } },
    ],
  },
  {
    rule: 'scheduleTakesChunks',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: '1f1b', chunksPerRank: 2 } },
    message:
      'pipeline.chunksPerRank 2 is not supported by schedule 1f1b, which requires 1; the nearest is 1, or use schedule interleaved-1f1b',
    waysOut: [
      { layout: { pipeline: { schedule: '1f1b', chunksPerRank: 1 } } },
      { layout: { pipeline: { schedule: 'interleaved-1f1b', chunksPerRank: 2 } } },
    ],
  },
  {
    rule: 'scheduleTakesChunks',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'interleaved-1f1b' } },
    message:
      'pipeline.chunksPerRank 1 is not supported by schedule interleaved-1f1b, which requires 2 or more; the nearest is 2, or use schedule 1f1b',
    waysOut: [
      { layout: { pipeline: { schedule: 'interleaved-1f1b', chunksPerRank: 2 } } },
      { layout: { pipeline: { schedule: '1f1b' } } },
    ],
  },
  {
    rule: 'microBatchesFillGroups',
    layout: { pipelineParallelDegree: 4, pipeline: { chunksPerRank: 2 } },
    facts: { globalBatchSize: 6 },
    message:
      '6 micro-batches do not fill groups of 4 on 4 stages: a group must be between 4 and 6, and the remainder 0 or at least 4; the nearest group is 6, the nearest number of micro-batches 4',
    waysOut: [
      { layout: { pipeline: { chunksPerRank: 2, microBatchGroupSize: 6 } } },
      { facts: { globalBatchSize: 4 } },
    ],
  },
  {
    rule: 'microBatchesFillGroups',
    layout: { pipelineParallelDegree: 4, pipeline: { chunksPerRank: 2, microBatchGroupSize: 6 } },
    facts: { globalBatchSize: 8 },
    message:
      '8 micro-batches do not fill groups of 6 on 4 stages: a group must be between 4 and 8, and the remainder 0 or at least 4; the nearest group is 4, the nearest number of micro-batches 6',
    waysOut: [
      { layout: { pipeline: { chunksPerRank: 2, microBatchGroupSize: 4 } } },
      { facts: { globalBatchSize: 6 } },
    ],
  },
  {
    rule: 'microBatchesFillGroups',
    layout: { pipelineParallelDegree: 4, pipeline: { chunksPerRank: 2, microBatchGroupSize: 3 } },
    facts: { globalBatchSize: 8 },
    message:
      '8 micro-batches do not fill groups of 3 on 4 stages: a group must be between 4 and 8, and the remainder 0 or at least 4; the nearest group is 4',
    waysOut: [{ layout: { pipeline: { chunksPerRank: 2, microBatchGroupSize: 4 } } }],
  },
  {
    rule: 'microBatchesFillGroups',
    layout: { pipelineParallelDegree: 4, pipeline: { chunksPerRank: 2 } },
    facts: { globalBatchSize: 2 },
    message:
      'pipeline.schedule interleaved-1f1b on 4 stages needs at least 4 micro-batches, but has 2; raise globalBatchSize, or use schedule 1f1b',
    waysOut: [{ facts: { globalBatchSize: 4 } }, { layout: { pipeline: { schedule: '1f1b' } } }],
  },
  {
    rule: 'dualpipeHasMicroBatches',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'dualpipe-v', chunksPerRank: 2 } },
    facts: { globalBatchSize: 4 },
    message:
      'pipeline.schedule dualpipe-v needs at least 8 micro-batches, but has 4; the nearest globalBatchSize that gives them is 8, or use schedule zbv',
    waysOut: [{ facts: { globalBatchSize: 8 } }, { layout: { pipeline: { schedule: 'zbv', chunksPerRank: 2 } } }],
  },
  {
    rule: 'dualpipeHasMicroBatches',
    layout: {
      pipelineParallelDegree: 4,
      weightShardDegree: 2,
      pipeline: { schedule: 'dualpipe-v', chunksPerRank: 2 },
    },
    facts: { globalBatchSize: 8 },
    message:
      'pipeline.schedule dualpipe-v needs at least 8 micro-batches, but has 4; the nearest globalBatchSize that gives them is 16, or use schedule zbv',
    waysOut: [{ facts: { globalBatchSize: 16 } }, { layout: { pipeline: { schedule: 'zbv', chunksPerRank: 2 } } }],
  },
  {
    rule: 'vocabularyShardsOverPipeline',
    layout: { tensorParallelDegree: 8, pipelineParallelDegree: 8, pipeline: { vocabulary: 'sharded-over-pp' } },
    facts: { vocabularySize: 50_257 },
    message:
      'pipeline.vocabulary sharded-over-pp needs vocabularySize 50257 to be a multiple of tensorParallelDegree 8 times pipelineParallelDegree 8, 64; pad it to 50304',
    waysOut: [{ facts: { vocabularySize: 50_304 } }],
  },
  {
    rule: 'vocabularyShardsOverPipeline',
    layout: { pipelineParallelDegree: 2, pipeline: { vocabulary: 'interlaced' } },
    facts: { tiedEmbeddings: true },
    message: 'pipeline.vocabulary interlaced needs untied embeddings; with tiedEmbeddings use counted-as-layer',
    waysOut: [{ facts: { tiedEmbeddings: false } }, { layout: { pipeline: { vocabulary: 'counted-as-layer' } } }],
  },
  {
    rule: 'vocabularyShardsOverPipeline',
    layout: { pipelineParallelDegree: 2, pipeline: { vocabulary: 'sharded-over-pp', chunksPerRank: 2 } },
    message:
      'pipeline.vocabulary sharded-over-pp requires chunksPerRank 1, not 2; set it to 1, or use vocabulary counted-as-layer',
    waysOut: [
      { layout: { pipeline: { vocabulary: 'sharded-over-pp', chunksPerRank: 1 } } },
      { layout: { pipeline: { vocabulary: 'counted-as-layer', chunksPerRank: 2 } }, facts: { layers: 30 } },
    ],
  },
  {
    rule: 'vocabularyShardsOverPipeline',
    layout: { pipeline: { vocabulary: 'sharded-over-pp' } },
    message:
      'pipeline.vocabulary sharded-over-pp needs pipelineParallelDegree 2 or more; without a pipeline it is end-stages',
    waysOut: [{ layout: { pipelineParallelDegree: 2 } }, { layout: { pipeline: { vocabulary: 'end-stages' } } }],
  },
];

const legal: readonly LegalCase[] = [
  ['a stage for each layer', { pipelineParallelDegree: 32 }],
  ['unequal stages that are listed', { pipelineParallelDegree: 3, pipeline: { stages: stages(10, 12, 10) } }],
  ['the vocabulary as two more layers', { pipelineParallelDegree: 17, pipeline: { vocabulary: 'counted-as-layer' } }],
  [
    'micro-batches that leave a rest which fills a pipeline',
    { pipelineParallelDegree: 4, pipeline: { chunksPerRank: 2, microBatchGroupSize: 30 } },
  ],
  [
    'a group of all micro-batches',
    { pipelineParallelDegree: 4, pipeline: { chunksPerRank: 2, microBatchGroupSize: 64 } },
  ],
  [
    'dualpipe-v with a micro-batch for each virtual stage',
    { pipelineParallelDegree: 4, pipeline: { schedule: 'dualpipe-v', chunksPerRank: 2 } },
    { globalBatchSize: 8 },
  ],
  [
    'a sharded vocabulary with two chunks in a V',
    {
      pipelineParallelDegree: 2,
      pipeline: { schedule: 'v-half', vocabulary: 'sharded-over-pp', chunksPerRank: 2 },
    },
  ],
];

describe('rules of what pipeline ranks split', () => {
  showRules({ rules: pipelineDegreeRules, broken, legal });
});
