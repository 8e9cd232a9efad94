import type { JobResume } from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { ParallelLayout } from '@coxswain/layout';
import { resumeFormOf, resumeLoss, type ResumeForm, resumeRequestOf } from './resume-request.ts';

const job = aJob();
const layout = ParallelLayout.parse({ tensorParallelDegree: 2, dataParallelDegree: 2 });

describe('a resume', () => {
  it.each<[string, Partial<ResumeForm>, JobResume]>([
    ['as the job is asks for nothing', {}, {}],
    ['on other GPUs lets the planner choose', { division: 'gpus', gpus: 8 }, { gpus: 8 }],
    ['from another checkpoint names it', { from: 's20' }, { from: 's20' }],
    ['may do both', { division: 'gpus', gpus: 2, from: 'scratch' }, { gpus: 2, from: 'scratch' }],
    [
      'on other degrees keeps the rest of the layout',
      {
        division: 'degrees',
        degrees: { ...resumeFormOf(job).degrees, tensorParallelDegree: 1, dataParallelDegree: 4 },
      },
      { layout: { ...layout, tensorParallelDegree: 1, dataParallelDegree: 4 } },
    ],
    [
      'may divide tokens too',
      { division: 'degrees', degrees: { ...resumeFormOf(job).degrees, contextParallelDegree: 2 } },
      { layout: { ...layout, contextParallelDegree: 2 } },
    ],
  ])('%s', (_sentence, changes, want) => {
    expect(resumeRequestOf({ ...resumeFormOf(job), ...changes }, job)).toEqual(want);
  });

  it('begins with the GPUs of a job that has no layout yet', () => {
    expect(resumeFormOf({ layout: null, gpus: 8 }).degrees).toMatchObject({
      tensorParallelDegree: 1,
      dataParallelDegree: 8,
    });
  });

  const saves = [
    { name: 's20', step: 20 },
    { name: 's40', step: 40 },
  ];
  const at40 = { progress: null, checkpoint: { name: 's40', step: 40 } };
  it.each<[string, string, string | undefined]>([
    ['from the newest checkpoint loses nothing', '', undefined],
    ['from the newest checkpoint by its name loses nothing', 's40', undefined],
    [
      'from an earlier one repeats steps',
      's20',
      '20 steps after step 20 are trained again, and later checkpoints are no longer used.',
    ],
    [
      'from scratch repeats all',
      'scratch',
      '40 steps after step 0 are trained again, and later checkpoints are no longer used.',
    ],
    ['from an unknown one says nothing', 's30', undefined],
  ])('%s', (_sentence, from, want) => {
    expect(resumeLoss(from, saves, at40)).toBe(want);
  });
});
