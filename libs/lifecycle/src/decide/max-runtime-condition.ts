/** Condition MaxRuntimeNear, and the summary of a job that stops. */
import type { Attempt } from '@coxswain/api-types';
import { describeNear, runtimeLeft } from '../disruption/max-runtime.ts';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';

/** Present from the announcement until the job ends or the limit is raised. */
export function maxRuntimeDraft(
  record: JobRecord,
  facts: Facts,
  now: Date,
): { readonly holds: true; readonly reason: 'LimitNear'; readonly message: string } | undefined {
  const left = runtimeLeft(record, facts, now);
  if (left === undefined || record.runtime?.announcedAt === undefined || record.terminal !== undefined)
    return undefined;
  return { holds: true, reason: 'LimitNear', message: describeNear(left) };
}

/** Why a gang stops for good. */
export function stoppingSummary(attempt: Attempt | undefined, { deleting }: Facts): string {
  if (deleting) return 'Stops, because it is being deleted.';
  const why = attempt?.reason === 'MaxRuntimeReached' ? attempt.message : undefined;
  return why === undefined ? 'Stops for good.' : `Saves and stops for good. ${why.split('\n', 1)[0] ?? ''}`;
}
