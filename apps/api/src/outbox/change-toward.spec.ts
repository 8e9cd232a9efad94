/* eslint-disable max-params -- the rows of a table are spread over the parameters of its test */
import { aJobSpec, aPlannedJobSpec } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { changeToward } from './change-toward.ts';

const running = aJobSpec({ suspend: false });
const suspended = aJobSpec({ suspend: true });
const wide = aLayout({ dataParallelDegree: 4 });

describe('the next change of a resource toward what was asked', () => {
  it.each([
    ['is none when it is so already', running, running, undefined, true],
    ['suspends', suspended, running, { suspend: true }, true],
    ['resumes', running, suspended, { suspend: false }, true],
    [
      'resumes from a place in one write',
      { ...running, resumeFrom: { from: 'scratch', request: '2' } },
      suspended,
      { suspend: false, resumeFrom: { from: 'scratch', request: '2' } },
      true,
    ],
    [
      'says to a job that waits where to go on',
      { ...running, resumeFrom: { from: 'scratch', request: '3' } },
      { ...running, resumeFrom: { from: 'scratch', request: '2' } },
      { suspend: false, resumeFrom: { from: 'scratch', request: '3' } },
      true,
    ],
    [
      'leaves a request that was made already',
      { ...running, resumeFrom: { from: 'scratch', request: '2' } },
      { ...running, resumeFrom: { from: 'scratch', request: '2' } },
      undefined,
      true,
    ],
    [
      'resumes on another layout in one write',
      { ...running, layout: wide },
      suspended,
      { suspend: false, layout: wide },
      true,
    ],
    [
      'suspends a running job before its layout changes',
      { ...running, layout: wide },
      running,
      { suspend: true },
      false,
    ],
    [
      'changes the layout of a job that stays suspended',
      { ...suspended, layout: wide },
      suspended,
      { suspend: true, layout: wide },
      true,
    ],
    ['cancels and does nothing else', { ...running, cancel: true, layout: wide }, suspended, { cancel: true }, true],
    ['leaves a cancelled job alone', { ...running, cancel: true }, { ...suspended, cancel: true }, undefined, true],
    [
      'gives the layout of a suspended job to the planner',
      aPlannedJobSpec({ gpus: 8 }),
      suspended,
      { suspend: false, layout: null, gpus: 8 },
      true,
    ],
    [
      'asks for no fewer than all of them any more',
      aPlannedJobSpec({ gpus: 8, suspend: true }),
      aPlannedJobSpec({ gpus: 8, minGpus: 4, suspend: true }),
      { suspend: true, layout: null, gpus: 8, minGpus: null },
      true,
    ],
    [
      'says how many GPUs are the least',
      aPlannedJobSpec({ gpus: 8, minGpus: 4 }),
      aPlannedJobSpec({ gpus: 8, suspend: true }),
      { suspend: false, layout: null, gpus: 8, minGpus: 4 },
      true,
    ],
    [
      'takes it back',
      { ...running, layout: wide },
      aPlannedJobSpec({ suspend: true }),
      { suspend: false, layout: wide, gpus: null },
      true,
    ],
    [
      'removes what a layout no longer says, which a merge would keep',
      { ...running, layout: wide },
      { ...suspended, layout: { ...wide, contextParallelDegree: 2, pipeline: { schedule: 'gpipe' } } },
      { suspend: false, layout: { ...wide, contextParallelDegree: null, pipeline: null } },
      true,
    ],
  ] as const)('%s', (_sentence, wanted, present, change, isComplete) => {
    expect(changeToward(wanted, present)).toEqual({ change, isComplete });
  });
});
