import {
  FINAL_JOB_STATES,
  findCondition,
  type JobPatch,
  type JobResume,
  MAX_LABELS,
  SCRATCH,
  type TrainingJobSpec,
} from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import type { ParallelLayout } from '@coxswain/layout';
import type { ApplyUrgency } from './job-changes.ts';
import { desiredLabels, desiredSpec, type JobRow } from './job-row.ts';
import type { DesiredChange } from './job-table.ts';
import { type KnownCheckpoint, requireLoads } from './resume-loads.ts';
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

/**
 * NOT_SUSPENDED unless it is suspended, or waits because no checkpoint can be used and `from` names one. CONFLICT if it was cancelled: cancel beats
 * resume. INVALID_LAYOUT for an illegal layout. INVALID_REQUEST for a checkpoint that the job does not have, or that
 * does not load at the layout. `known`: newest first.
 */
export function resumeChange(
  row: JobRow,
  { layout, gpus, from }: JobResume,
  known: readonly KnownCheckpoint[] = [],
): DesiredChange {
  requireUnfinished(row, 'resumed', known);
  const spec = desiredSpec(row);
  if (spec.cancel) {
    throw new DomainError('CONFLICT', 'the job is being cancelled, which cannot be undone; make another job');
  }
  if (!spec.suspend && !(from !== undefined && isUnresumable(row))) {
    throw new DomainError(
      'NOT_SUSPENDED',
      `job "${row.name}" is not suspended; suspend it before you resume it or change its layout`,
    );
  }
  if (layout !== undefined) requireLegalLayout({ ...spec, layout, gpus: undefined }, '/layout');
  if (gpus !== undefined) requirePlannable(spec, '/gpus');
  if (from !== undefined) requireUsable(row, from, known);
  // Without a change, the newest checkpoint was saved at this layout or was judged before.
  if (from !== undefined || layout !== undefined) requireLoads({ from }, layout ?? layoutOf(spec, gpus), known);
  if (from === undefined) return { suspend: false, layout, gpus };
  // The number of the change makes the same place another request when it is asked for again.
  return { suspend: false, layout, gpus, resumeFrom: { from, request: String(Number(row.generation) + 1) } };
}

/** undefined: the planner chooses it. */
function layoutOf({ layout }: TrainingJobSpec, gpus: number | undefined): ParallelLayout | undefined {
  return gpus === undefined ? layout : undefined;
}

/** Whether the job waits for a person to say where training goes on. */
function isUnresumable({ status }: JobRow): boolean {
  return findCondition(status.conditions, 'Placed')?.reason === 'CheckpointsUnusable';
}

function requireUsable(row: JobRow, from: string, known: readonly KnownCheckpoint[]): void {
  const refuse = (detail: string): never => {
    throw new DomainError('INVALID_REQUEST', `from: ${detail}`, [{ pointer: '/from', detail }]);
  };
  if (row.spec.checkpoint === undefined) {
    return refuse(`job "${row.name}" saves no checkpoints, so it always begins from scratch`);
  }
  if (from === SCRATCH) return;
  const named = known.find(({ name }) => name === from);
  // Also a damaged one: it may have been mended, and launchers verify it before they load it.
  if (named !== undefined) return;
  const usable = known.filter(({ state }) => state === 'Complete').slice(0, MOST_NAMED);
  const names = usable.map(({ name, step }) => `${name} (step ${step})`).join(', ');
  const instead =
    names === '' ? 'none of its checkpoints can be used; give "scratch"' : `give one of ${names}, or "scratch"`;
  return refuse(
    `job "${row.name}" has no checkpoint ${from}, and one of another job can be used once it is adopted; ${instead}`,
  );
}

const MOST_NAMED = 5;

/** CONFLICT for a job that has no resource any more, or never had one; INVALID_REQUEST when they would be too many. One that has ended can be labelled. */
export function labelChange(row: JobRow, { labels }: JobPatch): DesiredChange | undefined {
  if (row.state === 'Deleting' || row.state === 'Deleted' || row.state === 'Refused') {
    throw new DomainError('CONFLICT', `job "${row.name}" is ${row.state}: its labels cannot be changed any more`);
  }
  const before = desiredLabels(row);
  const differing = Object.entries(labels).filter(([key, value]) => (before[key] ?? null) !== value);
  if (differing.length === 0) return undefined;
  const change = Object.fromEntries(differing);
  const count = Object.keys(desiredLabels({ labels: before, desired_labels: change })).length;
  if (count <= MAX_LABELS) return { labels: change };
  const detail = `job "${row.name}" would have ${count} labels; at most ${MAX_LABELS} are allowed: remove some with null`;
  throw new DomainError('INVALID_REQUEST', `labels: ${detail}`, [{ pointer: '/labels', detail }]);
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

/** A change that frees GPUs goes first, one of labels alone last. */
export function urgencyOf({ labels, ...rest }: DesiredChange): ApplyUrgency {
  if (rest.cancel === true || rest.delete === true || rest.suspend === true) return 'stop';
  return labels !== undefined && Object.keys(rest).length === 0 ? 'describe' : 'run';
}

function requireUnfinished(row: JobRow, participle: string, known: readonly KnownCheckpoint[] = []): void {
  if (row.state === 'Deleting') {
    throw new DomainError('CONFLICT', `job "${row.name}" is being deleted and cannot be ${participle}`);
  }
  if (!FINAL_JOB_STATES.has(row.state)) return;
  throw new DomainError(
    'ALREADY_FINISHED',
    `job "${row.name}" is ${row.state} and cannot be ${participle}; make another job${howToContinue(row, known)}`,
  );
}

/** How another job continues from the newest checkpoint of one that ended without finishing; empty: nothing to continue from is known. */
function howToContinue({ name, state }: JobRow, known: readonly KnownCheckpoint[]): string {
  const newest = known.find((one) => one.state === 'Complete' && one.spec !== undefined);
  if (state === 'Complete' || newest?.spec === undefined) return '';
  const { claimName = '', bucket, path } = newest.spec;
  const place = bucket === undefined ? `--claim ${claimName} --path ${path}` : `${bucket.uri}/${path}`;
  const ending = `-step-${newest.step}`;
  const adopted = `${name.slice(0, MAX_NAME - ending.length)}${ending}`;
  return `. To continue from step ${newest.step}: coxswain checkpoint adopt ${adopted} ${place}, then set spec.resumeFrom.from: ${adopted} in the file of the other job`;
}

/** Of a name that a new Checkpoint gets. */
const MAX_NAME = 63;
