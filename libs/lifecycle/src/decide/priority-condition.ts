/** What does condition Placed say of the job's priority? */
import { deletedPriorityClass, missingPodClass, unreadPriorityClass } from '../epoch/job-priority.ts';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';

/** Reasons with which a deleted class is shown. */
const SHOWN: readonly string[] = ['GangPlaced', 'WaitingForCapacity', 'TopologyUnsatisfiable'];

/** The draft with sentences on a class that was deleted, and on the class that the pods of a gang lack. */
export function withPriority<Draft extends { readonly reason: string; readonly message: string }>(
  draft: Draft,
  record: JobRecord,
  facts: Facts,
): Draft {
  if (!SHOWN.includes(draft.reason)) return draft;
  const sentences = [
    deletedPriorityClass(record, facts) ?? [],
    unreadPriorityClass(record, facts) ?? [],
    draft.reason === 'GangPlaced' ? (missingPodClass(record, facts) ?? []) : [],
  ].flat();
  // A message that stays from an earlier reconciliation may have the sentence.
  const unsaid = sentences.filter((sentence) => !draft.message.includes(sentence));
  return unsaid.length === 0 ? draft : { ...draft, message: [draft.message, ...unsaid].join(' ') };
}
