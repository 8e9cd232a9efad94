/** Has a gang that is to stop saved what it can save before? */
import type { Attempt } from '@coxswain/api-types';
import { canSaveOnRequest } from '../disruption/save-on-request.ts';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';
import { lastStepOf } from './last-step.ts';

/** Whether the ranks can be asked for a save that is worth waiting for. SIGTERM makes the others save, too, if their engine can. */
export function canBeAskedToSave({ spec }: Facts, { firstStep }: Attempt): boolean {
  return spec?.checkpoint !== undefined && canSaveOnRequest(spec.engine.name) && firstStep !== undefined;
}

/** Whether the save that was asked for under that key is answered, or every step is saved. */
export function isSavedFor(
  record: JobRecord,
  facts: Facts,
  about: { readonly attempt: Attempt; readonly key: string },
): boolean {
  const { attempt, key } = about;
  const { earlySave, firstStep } = attempt;
  if (earlySave?.outcome !== undefined && earlySave.suspicions.includes(key)) return true;
  const step = Math.max(lastStepOf(record, facts).lastStep ?? 0, record.progress?.step ?? 0, firstStep?.step ?? 0);
  return step <= (record.checkpoint?.step ?? 0);
}
