/** What the page of a job says first of its failure. */
import type { Job } from '@coxswain/api-types';
import { aJob, aJobFailure } from '@coxswain/api-types/testing';
import { createElement } from 'react';
import { FailureCause } from './failure-cause.tsx';
import { textOf } from './testing/rendered.ts';

const NOW = new Date('2026-01-01T00:00:00.000Z');
const restarting = aJobFailure({
  isFinal: false,
  answer: 'Attempt 4 follows.',
  nextAttemptAt: '2026-01-01T00:00:20.000Z',
});

describe('the cause on the page of a job', () => {
  it.each<[string, Partial<Omit<Job, 'spec'>>, string]>([
    ['is absent without a failure', { state: 'Running' }, ''],
    [
      'opens the page of a job that failed',
      { state: 'Failed', lastFailure: aJobFailure() },
      'Attempt 3 failed Rank 1 on node gpu-b exited with code 1: ValueError: planted. ' +
        'Traceback (most recent call last): File "train.py", line 3, in main ValueError: planted ' +
        'Where rank 1, pod tiny-gpt-3f1c2b9e-e3-0, node gpu-b Exit exit code 1 Blame program (PythonException) ' +
        'Result The job ended because its restarts are spent. Next Read the traceback.',
    ],
    [
      'is one line while the job restarts',
      { state: 'Restarting', lastFailure: restarting },
      'Attempt 3 failed: Rank 1 on node gpu-b exited with code 1: ValueError: planted. Attempt 4 follows in 20.0 s.',
    ],
    ['is absent once the job runs again', { state: 'Running', lastFailure: restarting }, ''],
  ])('%s', (_sentence, job, want) => {
    expect(textOf(createElement(FailureCause, { job: aJob(job), now: NOW }))).toBe(want);
  });
});
