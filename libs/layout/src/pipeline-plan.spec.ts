import { readLayout } from './index.ts';
import { PIPELINE_SCHEDULES, type PipelinePlan, VOCABULARY_PLACEMENTS } from './pipeline-plan.ts';

const taken: readonly (readonly [sentence: string, pipeline: PipelinePlan])[] = [
  ...PIPELINE_SCHEDULES.map((schedule) => [`schedule ${schedule}`, { schedule }] as const),
  ...VOCABULARY_PLACEMENTS.map((vocabulary) => [`vocabulary ${vocabulary}`, { vocabulary }] as const),
  ['nothing at all', {}],
  ['one chunk per rank', { chunksPerRank: 1 }],
  ['256 chunks per rank', { chunksPerRank: 256 }],
  ['groups of one micro-batch', { microBatchGroupSize: 1 }],
  ['groups of 65,536 micro-batches', { microBatchGroupSize: 65_536 }],
  ['a stage without layers, which holds the embedding alone', { stages: [{ layers: 0, embedding: true }] }],
  ['a stage of the loss and two prediction layers', { stages: [{ layers: 1, loss: true, mtpLayers: 2 }] }],
  ['256 stages one by one', { stages: Array.from({ length: 256 }, () => ({ layers: 1024 })) }],
  ['two barriers of the vocabulary', { vocabularyBarriers: 2 }],
  ['a schedule from a file', { schedule: 'schedule-file', scheduleFile: 'passes.csv' }],
  ['no stage left out', { skipRatio: 0 }],
  ['nine of ten stages left out', { skipRatio: 0.9 }],
  ['no protected stage', { protectedStages: 0 }],
  ['65,536 pieces of a graph', { graphChunks: 65_536 }],
  ['embeddings of this epoch', { stalenessEpochs: 0 }],
  ['embeddings of the last epoch', { stalenessEpochs: 1 }],
];

const refused: readonly (readonly [pipeline: unknown, want: string])[] = [
  [
    { schedule: '1f1' },
    'pipeline.schedule: "1f1" is not one of gpipe, 1f1b, interleaved-1f1b, looped-bfs, zb-h1, zb-2p, zbv, v-half, v-min, dualpipe-v, schedule-file, partial-paths, graph-chunks; did you mean 1f1b?',
  ],
  [
    { vocabulary: 'end-stage' },
    'pipeline.vocabulary: "end-stage" is not one of end-stages, counted-as-layer, sharded-over-pp, interlaced; did you mean end-stages?',
  ],
  [{ chunksPerRank: 0 }, 'pipeline.chunksPerRank: is 0; it must be at least 1'],
  [{ chunksPerRank: 257 }, 'pipeline.chunksPerRank: is 257; it must be at most 256'],
  [{ chunksPerRank: 2.5 }, 'pipeline.chunksPerRank: is 2.5; it must be a whole number, not 2.5'],
  [{ microBatchGroupSize: 0 }, 'pipeline.microBatchGroupSize: is 0; it must be at least 1'],
  [{ microBatchGroupSize: 65_537 }, 'pipeline.microBatchGroupSize: is 65537; it must be at most 65536'],
  [{ stages: [] }, 'pipeline.stages: is []; it must not be empty'],
  [
    { stages: Array.from({ length: 257 }, () => ({ layers: 1 })) },
    'pipeline.stages: is [{"layers":1},{"layers":1},{"layers":1},{"layers":1},{"layer…; it must have at most 256 items',
  ],
  [{ stages: [{ layers: 1 }, {}] }, 'pipeline.stages.1.layers: is required'],
  [{ stages: [{ layers: -1 }] }, 'pipeline.stages.0.layers: is -1; it must be at least 0'],
  [{ stages: [{ layers: 1025 }] }, 'pipeline.stages.0.layers: is 1025; it must be at most 1024'],
  [
    { stages: [{ layers: 1, embedding: 'yes' }] },
    'pipeline.stages.0.embedding: is "yes"; it must be true or false, not a string',
  ],
  [{ stages: [{ layers: 1, loss: 1 }] }, 'pipeline.stages.0.loss: is 1; it must be true or false, not a number'],
  [{ stages: [{ layers: 1, mtpLayers: 65 }] }, 'pipeline.stages.0.mtpLayers: is 65; it must be at most 64'],
  [{ stages: [{ layers: 1, embeding: true }] }, 'pipeline.stages.0: unknown key embeding; did you mean embedding?'],
  [{ vocabularyBarriers: 0 }, 'pipeline.vocabularyBarriers: is 0; it must be at least 1'],
  [{ vocabularyBarriers: 3 }, 'pipeline.vocabularyBarriers: is 3; it must be at most 2'],
  [{ scheduleFile: '' }, 'pipeline.scheduleFile: is ""; it must not be empty'],
  [{ skipRatio: -0.1 }, 'pipeline.skipRatio: is -0.1; it must be at least 0'],
  [{ skipRatio: 0.95 }, 'pipeline.skipRatio: is 0.95; it must be at most 0.9'],
  [{ protectedStages: -1 }, 'pipeline.protectedStages: is -1; it must be at least 0'],
  [{ protectedStages: 1025 }, 'pipeline.protectedStages: is 1025; it must be at most 1024'],
  [{ graphChunks: 0 }, 'pipeline.graphChunks: is 0; it must be at least 1'],
  [{ graphChunks: 65_537 }, 'pipeline.graphChunks: is 65537; it must be at most 65536'],
  [{ stalenessEpochs: -1 }, 'pipeline.stalenessEpochs: is -1; it must be at least 0'],
  [{ stalenessEpochs: 2 }, 'pipeline.stalenessEpochs: is 2; it must be at most 1'],
  [
    { microBatches: 8 },
    'pipeline: unknown key microBatches; known keys are schedule, chunksPerRank, microBatchGroupSize, stages, vocabulary, vocabularyBarriers, scheduleFile, skipRatio, protectedStages, graphChunks, stalenessEpochs',
  ],
];

describe('the plan of a pipeline', () => {
  it.each(taken)('takes %s', (_sentence, pipeline) => {
    expect(readLayout({ pipeline })).toMatchObject({ kind: 'layout', document: { layout: { pipeline } } });
  });

  it.each(refused)('refuses %j', (pipeline, want) => {
    const read = readLayout({ pipeline });
    const messages = read.kind === 'wrong' ? read.problems.map(({ path, message }) => `${path}: ${message}`) : [];
    expect(messages).toEqual([want]);
  });
});
