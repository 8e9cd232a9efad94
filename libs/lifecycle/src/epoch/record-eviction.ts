/** When does a gang stop because Kueue evicted its Workload? */
import { safeText } from '@coxswain/safe-text';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';
import { lastStepOf } from './last-step.ts';

/**
 * Stops the gang, which saves at SIGTERM. Kueue counts its GPUs as taken until the pods are gone and the operator releases the Workload, so no other job gets them
 * before. The stop is never taken back.
 */
export function recordEviction(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  const { quota } = facts.observed;
  if (attempt === undefined || attempt.stage === 'Stopping' || quota?.kind !== 'evicted') return record;
  return withLastAttempt(record, {
    stage: 'Stopping',
    stoppingAt: now.toISOString(),
    outcome: 'Moved',
    reason: 'QuotaEvicted',
    message: safeText(`${quota.message} The job goes on when Kueue admits it again.`, 8_000),
    charged: false,
    ...lastStepOf(record, facts),
  });
}
