/** Does a job train as its layout asks, as far as hooks have reported? */
import type { ReasonOf } from '@coxswain/api-types';
import type { JobRecord } from '../record/job-record.ts';

interface TrainedDraft {
  readonly holds: boolean;
  readonly reason: ReasonOf<'TrainedAsAsked'>;
  readonly message: string;
}

/** The condition of the newest attempt only: an earlier attempt may have trained another layout. */
export function trainedDraft(record: JobRecord): TrainedDraft | undefined {
  const { trained, epoch } = record.attempts.at(-1) ?? {};
  if (trained === undefined) return undefined;
  const { differences, seen } = trained;
  if (differences.length > 0) return { holds: false, reason: 'LayoutDiffers', message: differences.join(' ') };
  const nothing = `The ranks of attempt ${epoch} train as the layout asks, as far as they have reported.`;
  const message = seen === undefined ? nothing : `${nothing} ${seen}`;
  return { holds: true, reason: 'NothingDiffers', message };
}

/** The difference in a sentence for the job's summary, for users who do not read conditions; empty if there is none. */
export function notAsAsked(draft: TrainedDraft | undefined): string {
  return draft?.holds === false ? ` Not as asked: ${draft.message}` : '';
}
