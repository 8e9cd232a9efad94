import { aJobSpec, aPlannedJobSpec } from '@coxswain/api-types/testing';

import { aLayout } from '@coxswain/layout/testing';
import { desiredSpec, type JobRow } from './job-row.ts';
import { aJobRow } from './testing/a-job-row.ts';

const wide = aLayout({ dataParallelDegree: 4 });
const { layout } = aJobSpec();

describe('the spec that a row asks for', () => {
  it.each<[string, Partial<JobRow>, object]>([
    ['is the resource’s when nothing was asked', {}, { layout, suspend: false, cancel: false }],
    ['is suspended when that was asked', { desired_suspend: true }, { suspend: true }],
    [
      'runs again when that was asked',
      { spec: aJobSpec({ suspend: true }), desired_suspend: false },
      { suspend: false },
    ],
    ['has the layout that was asked for', { desired_layout: wide }, { layout: wide }],
    [
      'stays cancelled, whatever was asked since',
      { spec: aJobSpec({ cancel: true }), desired_suspend: false },
      { cancel: true },
    ],
    ['is cancelled when that was asked', { desired_cancel: true }, { cancel: true }],
    ['keeps its number of GPUs', { spec: aPlannedJobSpec({ gpus: 8 }) }, { gpus: 8 }],
  ])('%s', (_sentence, columns, want) => {
    expect(desiredSpec(aJobRow(columns))).toMatchObject(want);
  });

  it.each<[string, Partial<JobRow>, 'layout' | 'gpus']>([
    ['a number of GPUs takes the place of a layout', { desired_gpus: 8 }, 'layout'],
    [
      'a layout takes the place of a number of GPUs',
      { spec: aPlannedJobSpec({ gpus: 8 }), desired_layout: wide },
      'gpus',
    ],
  ])('%s', (_sentence, columns, absent) => {
    expect(desiredSpec(aJobRow(columns))).not.toHaveProperty(absent);
  });
});
