/** When does a gang stop because Kueue evicted its Workload? */
import { safeText } from '@coxswain/safe-text';
import type { Attempt } from '@coxswain/api-types';
import type { Facts } from '../observation/facts.ts';
import { evictionKey, evictionOf, evictionSave } from '../observation/quota-eviction.ts';
import { isOver, type Wait } from '../observation/waits.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';
import { canBeAskedToSave, isSavedFor } from './is-saved.ts';
import { lastStepOf } from './last-step.ts';

/**
 * Stops the gang once it has saved, or its time for that is over. Kueue counts its GPUs as taken until the pods are gone and the operator releases the Workload, so
 * no other job gets them before. The stop is never taken back.
 */
export function recordEviction(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  const { quota } = facts.observed;
  if (attempt === undefined || attempt.stage === 'Stopping' || quota?.kind !== 'evicted') return record;
  if (!isDue(record, facts, attempt)) return record;
  return withLastAttempt(record, {
    stage: 'Stopping',
    stoppingAt: now.toISOString(),
    outcome: 'Moved',
    reason: 'QuotaEvicted',
    message: safeText(`${sentenceOf(quota.message)} The job goes on when Kueue admits it again.`, 8_000),
    charged: false,
    ...lastStepOf(record, facts),
  });
}

/** Messages of Kueue have no full stop. */
function sentenceOf(message: string): string {
  return message.endsWith('.') ? message : `${message}.`;
}

/** The wait for the save that was asked for; undefined: the gang is not evicted, or does not save and train on. */
export function evictionWait(record: JobRecord, facts: Facts): Wait | undefined {
  const attempt = liveAttempt(record);
  if (attempt === undefined || evictionOf(facts, attempt) === undefined) return undefined;
  return canBeAskedToSave(facts, attempt) ? evictionSave(attempt) : undefined;
}

/** Whether more waiting would save no more steps. A gang that is still being made has nothing to save. */
function isDue(record: JobRecord, facts: Facts, attempt: Attempt): boolean {
  if (attempt.stage !== 'Released' || !canBeAskedToSave(facts, attempt)) return true;
  return isOver(facts, evictionSave(attempt)) || isSavedFor(record, facts, { attempt, key: evictionKey(attempt) });
}
