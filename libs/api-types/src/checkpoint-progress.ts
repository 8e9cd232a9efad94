/** How far training was when a checkpoint was saved. */
import { z } from 'zod';
import { counter } from './status-fields.ts';

const loss = z.number().min(-1e30).max(1e30);

/** The same as the launcher of rank 0 reports it, which knows only the steps of its own ranks. */
export const SavedProgress = z.strictObject({
  loss: loss.optional(),
  lossStep: counter.optional(),
  /** Since `fromStep`, where these ranks began. */
  tokens: counter.optional(),
  fromStep: counter,
  /** To an operator that listens to it. */
  duringWrite: z.strictObject({ steps: counter, ms: counter }).optional(),
});
export type SavedProgress = z.infer<typeof SavedProgress>;

/** Loss and tokens of the training that a checkpoint holds. */
export const CheckpointProgress = z
  .object({
    loss: loss.optional().describe('Loss at lossStep. Absent: the engine reported none, or it was not finite.'),
    lossStep: counter.optional().describe('Last step, at or before that of the checkpoint, whose loss was reported.'),
    tokens: counter
      .optional()
      .describe(
        'Tokens of all steps up to this one, also of the checkpoints that its job resumed from. Absent: not known.',
      ),
    stepsDuringWrite: counter
      .optional()
      .describe(
        'Steps after that of the checkpoint that ranks completed while its files were still being written: the engine saved it in the background. Absent: ranks waited for the write, or it is not known.',
      ),
    msDuringWrite: counter
      .optional()
      .describe('How long files of a save in the background were being written, at least, in milliseconds.'),
  })
  .meta({ id: 'CheckpointProgress' });
export type CheckpointProgress = z.infer<typeof CheckpointProgress>;
