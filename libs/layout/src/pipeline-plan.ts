import { z } from 'zod';

/** Values of `pipeline.schedule`. */
export const PIPELINE_SCHEDULES = [
  'gpipe',
  '1f1b',
  'interleaved-1f1b',
  'looped-bfs',
  'zb-h1',
  'zb-2p',
  'zbv',
  'v-half',
  'v-min',
  'dualpipe-v',
  'schedule-file',
  'partial-paths',
  'graph-chunks',
] as const;

/** Values of `pipeline.vocabulary`. */
export const VOCABULARY_PLACEMENTS = ['end-stages', 'counted-as-layer', 'sharded-over-pp', 'interlaced'] as const;

/** Most virtual stages that a layout may list one by one. */
export const MAX_LISTED_STAGES = 256;

/** What one virtual stage holds. */
export const PipelineStage = z
  .strictObject({
    layers: z.int().min(0).max(1024).describe('Transformer layers of the stage.'),
    embedding: z.boolean().optional().describe('Whether it holds the input embedding.'),
    loss: z.boolean().optional().describe('Output layer and loss.'),
    mtpLayers: z.int().min(0).max(64).optional().describe('Multi-token-prediction layers.'),
  })
  .meta({ id: 'PipelineStage', description: 'What one virtual stage of a pipeline holds.' });
export type PipelineStage = z.infer<typeof PipelineStage>;

/** The order of passes on a pipeline, and what each stage holds. */
export const PipelinePlan = z
  .strictObject({
    schedule: z
      .enum(PIPELINE_SCHEDULES)
      .optional()
      .describe('Absent: 1f1b, or interleaved-1f1b if a rank holds several chunks.'),
    chunksPerRank: z.int().min(1).max(256).optional().describe('Model chunks per rank (virtual pipeline). Absent: 1.'),
    microBatchGroupSize: z
      .int()
      .min(1)
      .max(65_536)
      .optional()
      .describe('Micro-batches that one chunk processes before the next chunk. Absent: pipelineParallelDegree.'),
    stages: z
      .array(PipelineStage)
      .min(1)
      .max(MAX_LISTED_STAGES)
      .optional()
      .describe(
        'pipelineParallelDegree * chunksPerRank entries in the order a sample passes through. Absent: as even as possible.',
      ),
    vocabulary: z
      .enum(VOCABULARY_PLACEMENTS)
      .optional()
      .describe('Which stages hold the embedding and the output layer. Absent: end-stages.'),
    vocabularyBarriers: z
      .int()
      .min(1)
      .max(2)
      .optional()
      .describe('Synchronisations per micro-batch of a vocabulary that is sharded over the pipeline.'),
    scheduleFile: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe('For schedule-file and partial-paths: the file that lists the passes of each rank.'),
    skipRatio: z.number().min(0).max(0.9).optional().describe('Share of stages that a micro-batch skips (SkipPipe).'),
    protectedStages: z
      .int()
      .min(0)
      .max(1024)
      .optional()
      .describe('Number of first stages that no micro-batch skips (SkipPipe).'),
    graphChunks: z
      .int()
      .min(1)
      .max(65_536)
      .optional()
      .describe('Dependent pieces of the graph that flow like micro-batches (GNNPipe).'),
    stalenessEpochs: z
      .int()
      .min(0)
      .max(1)
      .optional()
      .describe('Age of the embeddings used if the neighbours of a chunk have not run yet (GNNPipe).'),
  })
  .meta({ id: 'PipelinePlan', description: 'Order of passes on a pipeline, and what each stage holds.' });
export type PipelinePlan = z.infer<typeof PipelinePlan>;
