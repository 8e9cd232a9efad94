import { isDeepStrictEqual } from 'node:util';
import { type DesiredColumns, desiredLabels, desiredSpec } from './job-row.ts';

/** Whether two states of a row ask for the same spec and labels, in whatever order their keys come. What is undefined is not there. */
export function asksTheSame(one: DesiredColumns, other: DesiredColumns): boolean {
  return isDeepStrictEqual(requestOf(one), requestOf(other));
}

function requestOf(row: DesiredColumns): unknown {
  return JSON.parse(JSON.stringify({ spec: desiredSpec(row), labels: desiredLabels(row) }));
}

/** The row once all that was asked of it is done, or is not asked for any more. */
export function withoutChanges<Row extends DesiredColumns>(row: Row): Row {
  return {
    ...row,
    desired_suspend: null,
    desired_layout: null,
    desired_gpus: null,
    desired_resume_from: null,
    desired_cancel: false,
    desired_labels: null,
  };
}
