/** Where is training to go on, when a person chooses? */
import { z } from 'zod';

/** Asks for a beginning without any checkpoint. */
export const SCRATCH = 'scratch';

/**
 * A request, not a state: the next attempt uses it once, and later failures do not use it again. The same place can be
 * asked for again under another `request`.
 */
export const ResumeFrom = z
  .strictObject({
    from: z
      .string()
      .min(1)
      .max(253)
      .regex(
        /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
        'must be the name of a Checkpoint of this job or of an adopted one, or "scratch"',
      )
      .describe('Name of a Checkpoint of this job or of an adopted one, or "scratch".'),
    request: z.string().min(1).max(64).optional().describe('Any text; another one asks for the same again.'),
  })
  .meta({ id: 'ResumeFrom' });
export type ResumeFrom = z.infer<typeof ResumeFrom>;

/** Whether two requests are one and the same. */
export function isSameRequest(one: ResumeFrom | undefined, other: ResumeFrom | undefined): boolean {
  return one?.from === other?.from && one?.request === other?.request;
}
