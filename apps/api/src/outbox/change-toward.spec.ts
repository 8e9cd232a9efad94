/* eslint-disable max-params -- the rows of a table are spread over the parameters of its test */
import { aJobSpec } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { changeToward } from './cluster-writer.ts';

const running = aJobSpec({ suspend: false });
const suspended = aJobSpec({ suspend: true });
const wide = aLayout({ dataParallelDegree: 4 });

describe('the next change of a resource toward what was asked', () => {
  it.each([
    ['is none when it is so already', running, running, undefined, true],
    ['suspends', suspended, running, { suspend: true }, true],
    ['resumes', running, suspended, { suspend: false }, true],
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
  ] as const)('%s', (_sentence, wanted, present, change, isComplete) => {
    expect(changeToward(wanted, present)).toEqual({ change, isComplete });
  });
});
