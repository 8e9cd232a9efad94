/** When a waiting job is expected to start. */
import { z } from 'zod';
import { counter, timestamp } from './status-fields.ts';

/** What a predicted end rests on, from the best known to nothing. */
export const END_BASES = ['Measured', 'Predicted', 'MaxRuntime', 'Assumed'] as const;
/** What a predicted end rests on. */
export type EndBasis = (typeof END_BASES)[number];

/** The start of the first job in line, for which nodes are held. */
export const ExpectedStart = z
  .object({
    at: timestamp.describe('When the held nodes are expected to be free.'),
    earliest: timestamp.optional().describe('With latest the interval of the expected start.'),
    latest: timestamp.optional().describe('Absent: the end of a job on these nodes is not known.'),
    restsOn: z
      .enum(END_BASES)
      .describe(
        'What the expected end of the jobs on these nodes rests on. Measured: the remaining steps and their measured time. Predicted: the step time that the planner predicted. MaxRuntime: spec.maxRuntimeSeconds. Assumed: nothing is known, and a job is assumed to run as long again as it has run, at least an hour.',
      ),
    nodes: counter.optional().describe('Nodes that are held. Absent: not recorded.'),
    promisedAt: timestamp.describe('Since when nodes are held for the job.'),
    firstPromised: timestamp.describe('The start that was expected first.'),
    moved: z
      .string()
      .max(512)
      .optional()
      .describe('Why the expected start is later than it was, in a sentence. Absent: it never moved later.'),
    movedAt: timestamp.optional().describe('When it was found to be later.'),
  })
  .meta({ id: 'ExpectedStart' });
export type ExpectedStart = z.infer<typeof ExpectedStart>;
