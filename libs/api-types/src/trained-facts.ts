/** What is really trained on a rank, as the hook beside the engine saw it? */
import { z } from 'zod';

const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const name = z.string().max(128);
const NamedSize = z.object({ name: z.string().max(64), size: counter });

/** Read from PyTorch in the process of the rank, after its second step. The training program could forge it, so it counts for its own job only. */
export const TrainedFacts = z.object({
  /** Ranks of the default process group; 1 where there is none. */
  worldSize: counter,
  /** Null: no process group. */
  backend: z.string().max(64).nullable(),
  /** Dimensions of every DeviceMesh in the process, each name and size once. */
  mesh: z.array(NamedSize).max(32).default([]),
  /** Process groups that have a name, each name and size once. */
  groups: z.array(NamedSize).max(32).default([]),
  /** Classes that divide or copy the states of a model: the module that declares it, a dot, and its name. */
  wrappers: z.array(name).max(16).default([]),
  /** Elements of the parameters that are trained, as far as this rank holds them. */
  parameters: counter.optional(),
  parameterBytes: counter,
  optimizerBytes: counter,
  /** Elements whose optimizer states this rank keeps. */
  optimizedParameters: counter.optional(),
});
export type TrainedFacts = z.infer<typeof TrainedFacts>;

/** Most differences from the layout that an attempt records. */
export const MAX_TRAINED_DIFFERENCES = 4;

/** What was seen to be trained in an attempt, held against its layout. */
export const AttemptTrained = z
  .object({
    incarnation: counter.min(1).describe('Incarnation of the ranks that was checked.'),
    seen: z
      .string()
      .max(512)
      .optional()
      .describe(
        'What the first rank that reported really trains: process group, mesh, wrappers and sizes, in one sentence.',
      ),
    differences: z
      .array(z.string().max(512))
      .max(MAX_TRAINED_DIFFERENCES)
      .describe('Each a sentence: what a rank trains, and what the layout asks for. Empty: none was seen.'),
  })
  .meta({ id: 'AttemptTrained' });
export type AttemptTrained = z.infer<typeof AttemptTrained>;
