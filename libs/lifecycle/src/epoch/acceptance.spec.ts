import type { TrainingJob, TrainingJobSpec } from '@coxswain/api-types';
import { aJobSpec, aPlannedJobSpec } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { acceptanceOf } from './acceptance.ts';
import { factsOf } from '../observation/facts.ts';
import { recordOf } from '../record/job-record.ts';
import { observe } from '../testing/index.ts';
import { aJob } from '../testing/jobs.ts';

const plan = {
  chosenBy: 'Planner' as const,
  gpus: 4,
  fabric: '',
  plannerVersion: '1',
  plannedAt: '2026-01-01T00:00:00Z',
};
const withPlan = (more: object): TrainingJob['status'] => ({
  epoch: 0,
  restarts: { total: 0, charged: 0 },
  plan: { ...plan, ...more },
});

function accepted(spec: TrainingJobSpec, status?: TrainingJob['status']) {
  const job = { ...aJob(), spec, ...(status === undefined ? {} : { status }) };
  return acceptanceOf(recordOf(job), factsOf(observe({ job })));
}

describe('whether a spec can be run', () => {
  it.each([
    ['as it stands', aJobSpec(), undefined, { kind: 'accepted' }],
    ['not where it cannot be read', {} as TrainingJobSpec, undefined, { kind: 'refused', reason: 'SpecInvalid' }],
    [
      'not where its layout is not legal',
      aJobSpec({ layout: aLayout({ tensorParallelDegree: 3 }) }),
      undefined,
      { kind: 'refused', reason: 'LayoutInvalid' },
    ],
    [
      'not where it names a model that is not known',
      aJobSpec({ model: { preset: 'llama-9', sequenceLength: 128 } }),
      undefined,
      {
        kind: 'refused',
        reason: 'SpecInvalid',
        message: expect.stringMatching(/^model.preset: model "llama-9" is not known; nearest: /) as string,
      },
    ],
    [
      'not where the engine cannot train the model',
      aJobSpec({ model: { preset: 'llama-3.1-8b', sequenceLength: 128 } }),
      undefined,
      { kind: 'refused', reason: 'EngineRefused' },
    ],
    [
      'not where the engine cannot do it',
      aJobSpec({ data: undefined }),
      undefined,
      { kind: 'refused', reason: 'EngineRefused' },
    ],
    [
      'a refusal of the engine says what else to do',
      aJobSpec({ data: undefined }),
      undefined,
      { message: expect.stringMatching(/; set data\.claimName/) as string },
    ],
    ['not yet, without a plan', aPlannedJobSpec(), undefined, { kind: 'unplanned' }],
    [
      'on the layout that was planned',
      aPlannedJobSpec(),
      withPlan({ layout: aLayout({ dataParallelDegree: 4 }), microBatchSize: 2 }),
      { kind: 'accepted', spec: { layout: aLayout({ dataParallelDegree: 4 }), training: { microBatchSize: 2 } } },
    ],
    [
      'not where the planner found no layout',
      aPlannedJobSpec(),
      withPlan({ refusal: 'None fits.' }),
      { kind: 'refused', reason: 'NoLayoutFits', message: 'None fits.' },
    ],
    [
      'a refusal of another number of GPUs says nothing',
      aPlannedJobSpec(),
      withPlan({ gpus: 8, refusal: 'None fits.' }),
      { kind: 'unplanned' },
    ],
    [
      'not on a planned layout that the model has outgrown',
      aPlannedJobSpec(),
      withPlan({ layout: aLayout({ tensorParallelDegree: 3 }) }),
      { kind: 'refused', reason: 'LayoutInvalid' },
    ],
  ])('%s', (_sentence, spec, status, want) => {
    expect(accepted(spec, status)).toMatchObject(want);
  });
});
