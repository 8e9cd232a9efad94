/** How a launcher starts an engine, and how it reads steps and checkpoints in the engine's own formats. */
import { ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';

/** Programs that may start the ranks of a pod. */
export const RANK_STARTERS = ['launcher', 'torchrun', 'ft_launcher'] as const;

/** Formats of step lines that are read from the log if no hook reports the steps. plain: lines of any program that name a loss. */
export const STEP_LINES = ['plain', 'megatron', 'torchtitan', 'deepspeed', 'hugging-face'] as const;

/** Formats of checkpoints that engines save, as a manifest names them. */
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

/** The engine that saved a checkpoint, as the manifest that the launcher writes names it. */
const SavedBy = z.object({ engine: z.string().min(1).max(64), layout: ParallelLayout });
/** The engine and layout that saved a checkpoint. */
export type SavedBy = z.infer<typeof SavedBy>;

/** What the operator passes to a launcher about the engine beside its command, in `POD_ENV.engineRun`. */
export const EngineRun = z.object({
  startedBy: z.enum(RANK_STARTERS).default('launcher'),
  resumeArgs: z
    .array(z.string().max(4096))
    .max(64)
    .default([])
    .describe('Appended to the command if the ranks resume from a checkpoint.'),
  files: z.array(EngineFile).max(32).default([]),
  stepLines: z.enum(STEP_LINES).optional(),
  checkpoints: z.enum(ENGINE_CHECKPOINTS).optional().describe('Absent: the engine reports its checkpoints itself.'),
  tokensPerStep: z
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Tokens over all ranks, if the job defines them and the engine does not report them.'),
  savedBy: SavedBy.optional().describe('With checkpoints.'),
});
export type EngineRun = z.infer<typeof EngineRun>;
