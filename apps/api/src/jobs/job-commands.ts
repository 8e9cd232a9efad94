import { FINAL_JOB_STATES, type JobResume } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { desiredSpec, type JobRow } from './job-row.ts';
import type { DesiredChange } from './job-table.ts';
import { requireLegalLayout, requirePlannable } from './spec-rules.ts';

/*
 * What a command changes of a job as its row stands now. Undefined: the job is so already, and asking again changes nothing. Throws when the
 * job cannot be brought there any more.
 */

/** ALREADY_FINISHED or CONFLICT when the job has ended or is being deleted. */
export function suspendChange(row: JobRow): DesiredChange | undefined {
  requireUnfinished(row, 'suspended');
  return desiredSpec(row).suspend ? undefined : { suspend: true };
}

/** NOT_SUSPENDED unless it was suspended; CONFLICT once it was cancelled: cancel beats resume; INVALID_LAYOUT for a layout that cannot be. */
export function resumeChange(row: JobRow, { layout, gpus }: JobResume): DesiredChange {
  requireUnfinished(row, 'resumed');
  const spec = desiredSpec(row);
  if (spec.cancel) {
    throw new DomainError('CONFLICT', 'the job is being cancelled, which cannot be undone; make another job');
  }
  if (!spec.suspend) {
    throw new DomainError(
      'NOT_SUSPENDED',
      `job "${row.name}" is not suspended; suspend it before you resume it or change its layout`,
    );
  }
  if (layout !== undefined) requireLegalLayout({ ...spec, layout, gpus: undefined }, '/layout');
  if (gpus !== undefined) requirePlannable(spec, '/gpus');
  return { suspend: false, layout, gpus };
}

/** ALREADY_FINISHED or CONFLICT when the job has ended otherwise or is being deleted. */
export function cancelChange(row: JobRow): DesiredChange | undefined {
  if (row.state === 'Cancelled' || desiredSpec(row).cancel) return undefined;
  requireUnfinished(row, 'cancelled');
  return { cancel: true };
}

/** NOT_FOUND when it was deleted already. A job that has ended can be deleted. */
export function deleteChange(row: JobRow): DesiredChange | undefined {
  if (row.deleted_at !== null) throw new DomainError('NOT_FOUND', `job "${row.name}" was deleted already`);
  return row.desired_delete ? undefined : { delete: true };
}

function requireUnfinished(row: JobRow, participle: string): void {
  if (row.state === 'Deleting') {
    throw new DomainError('CONFLICT', `job "${row.name}" is being deleted and cannot be ${participle}`);
  }
  if (!FINAL_JOB_STATES.has(row.state)) return;
  throw new DomainError(
    'ALREADY_FINISHED',
    `job "${row.name}" is ${row.state} and cannot be ${participle}; make another job`,
  );
}
