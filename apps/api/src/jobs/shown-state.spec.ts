import { aJobSpec } from '@coxswain/api-types/testing';
import type { JobRow } from './job-row.ts';
import { shownState } from './shown-state.ts';
import { aJobRow } from './testing/a-job-row.ts';

const saving = aJobSpec({ checkpoint: { claimName: 'checkpoints' } });
const { checkpoint: _, ...lossy } = saving;
const suspend: Partial<JobRow> = { desired_suspend: true };
const cancel: Partial<JobRow> = { desired_cancel: true };
const resume: Partial<JobRow> = { desired_suspend: false };

const running: Partial<JobRow> = { state: 'Running', summary: 'Trains in attempt 1.' };
const suspended: Partial<JobRow> = {
  state: 'Suspended',
  summary: 'Suspended.',
  spec: { ...saving, suspend: true },
  status: { checkpoint: { name: 'c', step: 40 } },
};

describe('the state after a command', () => {
  it.each<[string, Partial<JobRow>, string]>([
    ['a running job without a request', running, 'Running: Trains in attempt 1.'],
    ['suspend of a running job', { ...running, ...suspend }, 'Suspending: The ranks save a checkpoint and stop.'],
    [
      'suspend of a job that saves nothing',
      { ...running, ...suspend, spec: lossy },
      'Suspending: The ranks stop. The job saves no checkpoints, so its steps are lost.',
    ],
    [
      'suspend that the cluster has and the operator has not answered',
      { ...running, spec: { ...saving, suspend: true } },
      'Suspending: The ranks save a checkpoint and stop.',
    ],
    [
      'suspend of a job that starts',
      { ...suspend, state: 'Starting' },
      'Suspending: The pods stop before the ranks have started.',
    ],
    ['suspend of a job that waits', { ...suspend, state: 'Queued' }, 'Suspending: The job leaves the queue.'],
    [
      'suspend of a job that restarts',
      { ...suspend, state: 'Restarting' },
      'Suspending: The ranks do not start again.',
    ],
    ['suspend of a suspended job', { ...suspended, ...suspend }, 'Suspended: Suspended.'],
    [
      'suspend of a job that is not in the cluster yet',
      { ...suspend, state: 'Submitting', summary: 'Recorded.' },
      'Submitting: Recorded.',
    ],
    [
      'cancel of a running job',
      { ...running, ...cancel },
      'Stopping: The ranks save a checkpoint and stop. Then the job ends; it cannot be resumed.',
    ],
    [
      'cancel of a suspended job',
      { ...suspended, ...cancel },
      'Stopping: No rank runs. Then the job ends; it cannot be resumed.',
    ],
    [
      'cancel after suspend',
      { ...running, ...suspend, ...cancel },
      'Stopping: The ranks save a checkpoint and stop. Then the job ends; it cannot be resumed.',
    ],
    ['cancel of a job that has ended', { ...cancel, state: 'Complete', summary: 'Done.' }, 'Complete: Done.'],
    [
      'cancel that the operator answers',
      { ...cancel, state: 'Stopping', summary: 'Stops for good.' },
      'Stopping: Stops for good.',
    ],
    ['resume', { ...suspended, ...resume }, 'Queued: The job resumes from step 40 as soon as its GPUs are free.'],
    [
      'resume of a job without checkpoints',
      { ...suspended, ...resume, status: {} },
      'Queued: The job resumes from scratch as soon as its GPUs are free.',
    ],
    [
      'resume from a checkpoint that a person chose',
      { ...suspended, ...resume, desired_resume_from: { from: 'tiny-s20', request: '4' } },
      'Queued: The job resumes from tiny-s20 as soon as its GPUs are free.',
    ],
    [
      'resume after an earlier choice was followed',
      {
        ...suspended,
        ...resume,
        spec: { ...saving, suspend: true, resumeFrom: { from: 'tiny-s20', request: '4' } },
        status: { checkpoint: { name: 'c', step: 60 }, resumeFrom: { from: 'tiny-s20', request: '4', epoch: 2 } },
      },
      'Queued: The job resumes from step 60 as soon as its GPUs are free.',
    ],
    [
      'resume while the ranks still stop',
      { ...resume, state: 'Suspending' },
      'Suspending: The ranks stop, as was asked before. Then the job resumes.',
    ],
    ['delete', { ...running, state: 'Deleting' }, 'Deleting: The job is being deleted. Its checkpoints stay.'],
    [
      'delete of pods that a policy keeps',
      {
        ...running,
        state: 'Deleting',
        summary: 'Stops. The cluster does not let Coxswain remove its finalizer from pod a: no. Coxswain retries.',
      },
      'Deleting: The job is being deleted. Its checkpoints stay. The cluster does not let Coxswain remove its finalizer from pod a: no. Coxswain retries.',
    ],
  ])('%s', (_command, columns, want) => {
    const { state, summary } = shownState(aJobRow({ spec: saving, ...columns }));
    expect(`${state}: ${summary}`).toBe(want);
  });
});
