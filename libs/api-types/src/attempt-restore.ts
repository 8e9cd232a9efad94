/** What did a restore bring back, and how did the loss continue? */
import { z } from 'zod';
import { counter } from './status-fields.ts';

/** Most entries of {@link AttemptRestore.notKept}. */
export const MAX_NOT_KEPT = 6;
/** Longest entry of it, in characters. */
export const MAX_NOT_KEPT_CHARACTERS = 384;

/** How training continued from the checkpoint of `resumedFrom`. */
export const AttemptRestore = z
  .object({
    lossBefore: z.number().optional().describe('Last reported loss before the restore. Absent: none was reported.'),
    stepBefore: counter.optional().describe('Step of lossBefore.'),
    lossAfter: z.number().optional().describe('Loss of the first reported step after the restore.'),
    stepAfter: counter.optional().describe('Step of lossAfter.'),
    notKept: z
      .array(z.string().max(MAX_NOT_KEPT_CHARACTERS))
      .max(MAX_NOT_KEPT)
      .optional()
      .describe(
        'What the checkpoint does not restore exactly, or what nothing says, each in a sentence. Empty: nothing. Absent: no step was reported yet, or the object of the checkpoint is gone.',
      ),
  })
  .meta({ id: 'AttemptRestore' });
export type AttemptRestore = z.infer<typeof AttemptRestore>;

/** `Loss 2.104 at step 100 before the restore, 2.121 at step 81 after it.` and what was not exact; empty if nothing is known. */
export function describeRestore({ lossBefore, stepBefore, lossAfter, stepAfter, notKept }: AttemptRestore): string {
  const before = lossBefore === undefined ? '' : `${shown(lossBefore)}${at(stepBefore)} before the restore`;
  const after = lossAfter === undefined ? '' : `${shown(lossAfter)}${at(stepAfter)} after it`;
  const losses = [before, after].filter((one) => one !== '').join(', ');
  const exact = notKept?.length === 0 ? ['Its files show nothing that was not restored exactly.'] : (notKept ?? []);
  return [...(before === '' ? [] : [`Loss ${losses}.`]), ...exact].join(' ');
}

function at(step: number | undefined): string {
  return step === undefined ? '' : ` at step ${step}`;
}

/** Four digits that count. */
function shown(loss: number): string {
  return String(Number(loss.toPrecision(4)));
}
