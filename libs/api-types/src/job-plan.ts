/** What did the planner say of a job? */
import { ParallelLayout } from '@coxswain/layout';
import { MEMORY_VERDICTS } from '@coxswain/planner/types';
import { z } from 'zod';
import { counter, milliseconds, timestamp } from './status-fields.ts';

/**
 * What the planner said of a job before its gang was made. It stands until somebody asks for another layout or number of GPUs; a restart
 * keeps it. Without a layout it is a refusal, which is looked at again when the fabric is another.
 */
export const JobPlan = z
  .object({
    chosenBy: z
      .enum(['Planner', 'User'])
      .describe('Planner: spec.gpus asked for a layout. User: spec.layout is predicted.'),
    gpus: counter,
    runtime: z
      .string()
      .max(320)
      .optional()
      .describe('Whose nodes it was made for, such as "ClusterTrainingRuntime efa". Absent: the job named none.'),
    fabric: z.string().max(1024).describe('What the planner knew of the cluster.'),
    layout: ParallelLayout.optional().describe('What the job runs on. Absent: refused.'),
    microBatchSize: counter.optional(),
    predictedStepMs: milliseconds.optional(),
    predictedStepLowMs: milliseconds
      .optional()
      .describe(
        'With predictedStepHighMs, where 80 of 100 such steps lie, by errors on published runs that were left out of the fit.',
      ),
    predictedStepHighMs: milliseconds.optional(),
    predictedPeakBytes: counter.optional(),
    gpuType: z.string().max(128).optional(),
    stageGpus: z
      .array(z.object({ stages: counter, gpuType: z.string().max(128) }))
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
          layout: z.string().max(256),
          microBatchSize: counter,
          predictedStepMs: milliseconds,
          predictedPeakBytes: counter,
        }),
      )
      .max(5)
      .optional()
      .describe('The next best, best first.'),
    errorStatement: z.string().max(1024).optional().describe('How far such predictions have been off.'),
    refusal: z.string().max(2048).optional().describe('Why no layout fits, in one sentence.'),
    forEpoch: counter
      .optional()
      .describe(
        'First epoch that it is for, where it is for fewer GPUs than spec.gpus. Absent: it is for all of them.',
      ),
    noLayoutFor: counter
      .optional()
      .describe('Fewest GPUs that the planner was asked for since, and has no layout for. Absent: none.'),
    plannerVersion: z.string().max(64),
    plannedAt: timestamp,
  })
  .meta({ id: 'JobPlan' });
export type JobPlan = z.infer<typeof JobPlan>;
