/** Which state and summary does a job have once what was asked of it last is under way? */
import { FINAL_JOB_STATES, HINDRANCE_BEGINS, isSameRequest, type Job, type TrainingJobSpec } from '@coxswain/api-types';
import { desiredSpec, type JobRow } from './job-row.ts';

/** What the answer is derived from. */
type ShownRow = Pick<JobRow, 'state' | 'summary' | 'status'> & Parameters<typeof desiredSpec>[0];
type Shown = Pick<Job, 'state' | 'summary'>;

/**
 * State and summary as the newest request leaves them. The resource reports the state before a request until the operator has answered it; a person who
 * has just suspended a job must not read that it is running. In each of these pairs of request and state, the operator's next status leads to the state that is shown.
 */
export function shownState(row: ShownRow): Shown {
  const { state, summary } = row;
  if (state === 'Deleting')
    return { state, summary: `The job is being deleted. Its checkpoints stay.${hindranceIn(summary)}` };
  if (FINAL_JOB_STATES.has(state) || state === 'Submitting' || state === 'Stopping') return { state, summary };
  const spec = desiredSpec(row);
  if (spec.cancel)
    return { state: 'Stopping', summary: `${stopOf(row, spec)} Then the job ends; it cannot be resumed.` };
  if (spec.suspend) {
    const isAnswered = state === 'Suspended' || state === 'Suspending';
    return isAnswered ? { state, summary } : { state: 'Suspending', summary: stopOf(row, spec) };
  }
  if (state === 'Suspended') return { state: 'Queued', summary: describeResume(row, spec) };
  if (state !== 'Suspending') return { state, summary };
  return { state, summary: 'The ranks stop, as was asked before. Then the job resumes.' };
}

/** What keeps the job from going, as the operator's summary ends; empty: nothing does. */
function hindranceIn(summary: string): string {
  const start = summary.indexOf(HINDRANCE_BEGINS);
  return start < 0 ? '' : ` ${summary.slice(start)}`;
}

function stopOf({ state }: ShownRow, { checkpoint }: TrainingJobSpec): string {
  switch (state) {
    case 'Running':
      return checkpoint === undefined
        ? 'The ranks stop. The job saves no checkpoints, so its steps are lost.'
        : 'The ranks save a checkpoint and stop.';
    case 'Starting':
      return 'The pods stop before the ranks have started.';
    case 'Restarting':
      return 'The ranks do not start again.';
    case 'Queued':
      return 'The job leaves the queue.';
    case 'Suspending':
      return 'The ranks stop.';
    default:
      return 'No rank runs.';
  }
}

function describeResume({ status }: ShownRow, { resumeFrom }: TrainingJobSpec): string {
  const step = status.checkpoint?.step;
  const isChosen = resumeFrom !== undefined && !isSameRequest(resumeFrom, status.resumeFrom);
  if (isChosen) return `The job resumes from ${resumeFrom.from} as soon as its GPUs are free.`;
  return `The job resumes from ${step === undefined ? 'scratch' : `step ${step}`} as soon as its GPUs are free.`;
}
