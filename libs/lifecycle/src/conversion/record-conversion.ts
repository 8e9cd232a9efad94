/** What does the record of a job say of the conversion that it needs? */
import type { JobConversion } from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import type { JobRecord } from '../record/job-record.ts';

/** Longest explanation in the status. */
const MAX_CHARACTERS = 1_024;

/**
 * The record with the conversion that the job needs now. `needed`: undefined if it needs none, so that the operator drops one that is not complete. The last one
 * stays in the record, and its save with it, for the next restart.
 */
export function withConversion(
  record: JobRecord,
  needed: Omit<JobConversion, 'wantedSince'> | undefined,
  now: Date,
): JobRecord {
  const { conversion: before } = record;
  if (needed !== undefined) {
    const since = before?.converted === needed.converted ? before.wantedSince : undefined;
    const because = safeText(needed.because, MAX_CHARACTERS);
    return { ...record, conversion: { ...needed, because, wantedSince: since ?? now.toISOString() } };
  }
  if (before?.wantedSince === undefined) return record;
  const { wantedSince: _, ...kept } = before;
  return { ...record, conversion: kept };
}
