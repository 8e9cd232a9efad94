/** What is run for a layout or a job: arguments, files and variables of the engine, or why it cannot. */
import { LAYOUT_ENGINES, MAX_WORLD_SIZE, ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';
import { DataSpec, InitialWeights } from './data-spec.ts';
import { EngineFields } from './engine-spec.ts';
import { EngineRun } from './engine-run.ts';
import { ModelSpec } from './model-spec.ts';
import { MAX_RANKS_PER_POD } from './pod-size.ts';
import { EXAMPLE_RENDERING } from './request-examples.ts';
import { specSizeProblem } from './spec-size.ts';
import { CheckpointSpec } from './checkpoint-spec.ts';
import { TrainingSpec } from './training-spec.ts';

/** As much of a job as somebody has who asks what a layout becomes; the rest is assumed, and what was assumed is answered. */
export const RenderingRequest = z
  .strictObject({
    engine: z
      .strictObject({
        ...EngineFields.shape,
        name: z.enum(LAYOUT_ENGINES).describe('Those that no job can name are refused with what to do instead.'),
      })
      .omit({ image: true, secretEnv: true, secretFiles: true })
      .meta({ id: 'AskedEngine' }),
    layout: ParallelLayout,
    model: z
      .strictObject({ ...ModelSpec.shape, sequenceLength: ModelSpec.shape.sequenceLength.optional() })
      .meta({ id: 'AskedModel' })
      .optional(),
    training: z
      .strictObject({ ...TrainingSpec.shape, globalBatchSize: TrainingSpec.shape.globalBatchSize.optional() })
      .meta({ id: 'AskedTraining' })
      .optional(),
    data: DataSpec.optional().describe('Absent: random tokens.'),
    initialWeights: InitialWeights.optional(),
    checkpoint: CheckpointSpec.optional(),
    gpusPerPod: z.int().min(1).max(MAX_RANKS_PER_POD).optional(),
    nicClasses: z
      .array(z.string().max(63))
      .max(MAX_WORLD_SIZE)
      .optional()
      .describe('Class of the NICs of each pod: infiniband, roce or ethernet.'),
    gpu: z.string().min(1).max(100).optional().describe('Name of a GPU preset.'),
  })
  .superRefine((request, context) => {
    const problem = specSizeProblem(request);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({ id: 'RenderingRequest', examples: [EXAMPLE_RENDERING] });
export type RenderingRequest = z.infer<typeof RenderingRequest>;

const RenderedProgram = z
  .object({
    release: z.string().nullable().describe('Of the engine that it is rendered for; null: a program of your own.'),
    startedBy: EngineRun.shape.startedBy.unwrap(),
    argv: z
      .array(z.string())
      .describe(
        'Program and arguments. $(NAME) stands for a variable of the rank, which its launcher puts there; $$ is a dollar sign.',
      ),
    resumeArgs: z.array(z.string()).describe('Put after them where the ranks begin from a checkpoint.'),
    env: z
      .array(z.object({ name: z.string(), value: z.string() }).meta({ id: 'RenderedVariable' }))
      .describe('Without secrets.'),
    files: z
      .array(z.object({ path: z.string(), text: z.string() }).meta({ id: 'RenderedFile' }))
      .describe('Below $(COXSWAIN_ENGINE_FILES).'),
    ports: z.array(z.object({ name: z.string(), port: z.int().min(1).max(65_535) }).meta({ id: 'RenderedPort' })),
    hostMemoryGibPerGpu: z.number().nullable().describe('null: no more than usual.'),
    stepLines: z
      .string()
      .nullable()
      .describe('Format of step lines that are read from the log; null: a hook or the engine reports steps.'),
    checkpointFormat: z
      .string()
      .nullable()
      .describe('Format in which it saves; null: the engine reports its checkpoints itself.'),
    notes: z
      .array(z.string())
      .describe('What follows from other words, what was assumed, what the engine does in its own way.'),
  })
  .meta({ id: 'RenderedProgram' });

const rendering = {
  engine: z.string(),
  program: RenderedProgram.nullable().describe('null where it is refused.'),
  refusal: z
    .object({
      rule: z.string(),
      field: z.string().describe('Below the spec of the job, with dots.'),
      why: z.string(),
      fallback: z.string().describe('What to do instead.'),
    })
    .meta({ id: 'RenderingRefusal' })
    .nullable(),
};

/** What an engine runs for a layout, or the rejection. */
export const EngineRendering = z.object(rendering).meta({ id: 'EngineRendering' });
export type EngineRendering = z.infer<typeof EngineRendering>;

/** What the engine of a job runs, or the rejection. */
export const JobRendering = z
  .object({
    ...rendering,
    epoch: z
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER)
      .nullable()
      .describe('Attempt whose placement it uses; null: not placed yet, rendered as it would start.'),
    layout: ParallelLayout.nullable().describe('null until the planner has chosen.'),
  })
  .meta({ id: 'JobRendering' });
export type JobRendering = z.infer<typeof JobRendering>;
