/** What does condition Placed say of the job's priority? */
import { deletedPriorityClass } from '../epoch/job-priority.ts';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';

/** Reasons with which the sentence is shown. */
const SHOWN: readonly string[] = ['GangPlaced', 'WaitingForCapacity', 'TopologyUnsatisfiable'];

/** The draft with a sentence on a class that was deleted. */
export function withDeletedClass<Draft extends { readonly reason: string; readonly message: string }>(
  draft: Draft,
  record: JobRecord,
  facts: Facts,
): Draft {
  const sentence = deletedPriorityClass(record, facts);
  // A message that stays from an earlier reconciliation may have the sentence.
  if (sentence === undefined || !SHOWN.includes(draft.reason) || draft.message.includes(sentence)) return draft;
  return { ...draft, message: `${draft.message} ${sentence}` };
}
