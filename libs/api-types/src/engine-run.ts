/** How does a launcher start an engine, and how does it read what the engine tells in its own ways? */
import { ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';

/** Who starts the processes of the ranks of a pod. */
export const RANK_STARTERS = ['launcher', 'torchrun', 'ft_launcher'] as const;

/** Engines whose lines of a step are read from the log where no hook tells of them. */
export const STEP_LINES = ['megatron', 'torchtitan', 'deepspeed', 'hugging-face'] as const;

/** Formats of checkpoints that engines save in their own ways, as a manifest names them. */
export const ENGINE_CHECKPOINTS = ['torch_dist', 'dcp', 'deepspeed', 'hugging-face'] as const;

/** Longest text of {@link EngineRun}: Linux takes no variable of more than 128 KiB. */
export const MAX_ENGINE_RUN_BYTES = 98_304;

/** Longest text of one file, in UTF-16 code units. */
export const MAX_ENGINE_FILE_LENGTH = 65_536;

const EngineFile = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(128)
    .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]*(\/[A-Za-z0-9_][A-Za-z0-9._-]*)*$/),
  text: z.string().max(MAX_ENGINE_FILE_LENGTH),
});

/** Who saves checkpoints in a way of their own, as the manifest says that the launcher writes for them. */
const SavedBy = z.object({ engine: z.string().min(1).max(64), layout: ParallelLayout });
export type SavedBy = z.infer<typeof SavedBy>;

/** What the operator tells a launcher of the engine beside its command, in `POD_ENV.engineRun`. */
export const EngineRun = z.object({
  startedBy: z.enum(RANK_STARTERS).default('launcher'),
  resumeArgs: z
    .array(z.string().max(4096))
    .max(64)
    .default([])
    .describe('Put after the command where the ranks begin from a checkpoint.'),
  files: z.array(EngineFile).max(32).default([]),
  stepLines: z.enum(STEP_LINES).optional(),
  checkpoints: z.enum(ENGINE_CHECKPOINTS).optional().describe('Absent: the engine tells of its checkpoints itself.'),
  tokensPerStep: z
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Over all ranks, where the job says it and the engine does not.'),
  savedBy: SavedBy.optional().describe('With checkpoints.'),
});
export type EngineRun = z.infer<typeof EngineRun>;
