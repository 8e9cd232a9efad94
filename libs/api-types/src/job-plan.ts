/** The planner's answer for a job. */
import { ParallelLayout } from '@coxswain/layout';
import { MEMORY_VERDICTS } from '@coxswain/planner/types';
import { z } from 'zod';
import { counter, milliseconds, timestamp } from './status-fields.ts';

/**
 * The planner's answer for a job before its gang is created. It stays until the spec asks for another layout or number of GPUs; a restart
 * keeps it. Without a layout it is a rejection, and the planner is asked again when the fabric changes.
 */
export const JobPlan = z
  .object({
    chosenBy: z
      .enum(['Planner', 'User'])
      .describe('Planner: spec.gpus asked for a layout. User: spec.layout is predicted.'),
    gpus: counter.describe('GPUs that the layout is for.'),
    runtime: z
      .string()
      .max(320)
      .optional()
      .describe('Whose nodes it was made for, such as "ClusterTrainingRuntime efa". Absent: the job named none.'),
    fabric: z.string().max(1024).describe('Facts of the cluster that the planner used.'),
    layout: ParallelLayout.optional().describe('Layout that the job runs on. Absent: rejected.'),
    microBatchSize: counter.optional().describe('Samples per forward pass of one rank.'),
    predictedStepMs: milliseconds.optional().describe('Predicted time of one step, in milliseconds.'),
    predictedStepLowMs: milliseconds
      .optional()
      .describe(
        'With predictedStepHighMs the 80 % interval of the step time, from errors on published runs that were left out of the fit.',
      ),
    predictedStepHighMs: milliseconds.optional().describe('Upper end of that interval.'),
    predictedPeakBytes: counter.optional().describe('Predicted largest memory of a rank.'),
    gpuType: z.string().max(128).optional().describe('GPU that it was predicted for.'),
    stageGpus: z
      .array(
        z.object({
          stages: counter.describe('Number of consecutive stages.'),
          gpuType: z.string().max(128).describe('GPU that they are cut for.'),
        }),
      )
      .max(64)
      .optional()
      .describe(
        'For which type of GPU consecutive stages of the layout are cut, where it is for several. Absent: all are of one.',
      ),
    whyStages: z
      .string()
      .max(1024)
      .optional()
      .describe(
        'Which stages are in which island, and why they have the layers that they have, where the layout is for several islands.',
      ),
    verdict: z.enum(MEMORY_VERDICTS).optional().describe('Whether predictedPeakBytes fits the GPU.'),
    runnersUp: z
      .array(
        z.object({
          layout: z.string().max(256).describe('The layout in short, such as tp4 x pp2 x dp8.'),
          microBatchSize: counter.describe('Samples per forward pass of one rank.'),
          predictedStepMs: milliseconds.describe('Predicted time of one step, in milliseconds.'),
          predictedPeakBytes: counter.describe('Predicted largest memory of a rank.'),
        }),
      )
      .max(5)
      .optional()
      .describe('The next best, best first.'),
    sizes: z
      .array(
        z.object({
          gpus: counter.describe('Number of GPUs.'),
          layout: z.string().max(256).describe('The fastest layout on them in short, such as tp4 x pp2 x dp8.'),
          predictedStepMs: milliseconds.describe('Predicted time of one step, in milliseconds.'),
        }),
      )
      .max(8)
      .optional()
      .describe(
        'Numbers of GPUs on which a job with minGpus can run, most first, as the planner found them when it planned for spec.gpus. Other numbers are tried when they are needed. Absent: the job states no minGpus, or they are not known.',
      ),
    errorStatement: z.string().max(1024).optional().describe('Measured error of such predictions.'),
    refusal: z.string().max(2048).optional().describe('Why no layout fits, in one sentence.'),
    forEpoch: counter
      .optional()
      .describe('First attempt that uses it, if it is for fewer GPUs than spec.gpus. Absent: it is for all GPUs.'),
    noLayoutFor: counter
      .optional()
      .describe('Fewest GPUs for which the planner has since found no layout. Absent: none.'),
    plannerVersion: z.string().max(64).describe('Version of the planner.'),
    plannedAt: timestamp.describe('When the planner answered.'),
  })
  .meta({ id: 'JobPlan' });
export type JobPlan = z.infer<typeof JobPlan>;
