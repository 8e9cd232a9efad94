import type { Job } from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { type ActedJob, actionsOf, type JobAction, warningOf } from './job-actions.ts';

const progressAt = (step: number): NonNullable<Job['progress']> => ({
  ...{ step, totalSteps: null, loss: null, tokensPerSecond: null, etaSeconds: null, reportedAt: 't' },
});
const savedAt = (step: number) => ({ name: `s${step}`, step });
/** As in a list. */
const listed = (changes: Partial<ActedJob>): ActedJob => {
  const { spec: _spec, ...job } = aJob();
  return { ...job, ...changes };
};
const unsaving = (changes: Partial<ActedJob>): ActedJob => {
  const { checkpoint: _none, ...spec } = aJob().spec;
  return { ...aJob(), ...changes, spec };
};

describe('the actions on a job', () => {
  it.each<[string, ActedJob, readonly JobAction[]]>([
    ['that runs', aJob(), ['suspend', 'cancel', 'delete']],
    ['that waits', aJob({ state: 'Queued' }), ['suspend', 'cancel', 'delete']],
    ['that is suspended', aJob({ state: 'Suspended', spec: { suspend: true } }), ['resume', 'cancel', 'delete']],
    ['that is suspended, in a list', listed({ state: 'Suspended' }), ['resume', 'cancel', 'delete']],
    ['that runs, in a list', listed({}), ['suspend', 'cancel', 'delete']],
    ['that is being cancelled', aJob({ state: 'Stopping' }), ['delete']],
    ['that was asked to end', aJob({ spec: { cancel: true } }), ['delete']],
    ['that failed', aJob({ state: 'Failed' }), ['delete']],
    ['that is being deleted', aJob({ state: 'Deleting' }), []],
    ['that the cluster refused', aJob({ state: 'Refused' }), []],
  ])('%s', (_sentence, job, want) => {
    expect(actionsOf(job)).toEqual(want);
  });
});

describe('before', () => {
  const trained = { progress: progressAt(1_234), checkpoint: savedAt(1_200) };
  it.each<[string, JobAction, ActedJob, RegExp | undefined]>([
    ['a resume nothing is said', 'resume', aJob(trained), undefined],
    ['a suspend nothing is said, because ranks save', 'suspend', aJob(trained), undefined],
    [
      'a suspend nothing is said if the first save is still to come',
      'suspend',
      aJob({ progress: progressAt(5) }),
      undefined,
    ],
    [
      'a suspend of a job that never saves its steps are counted',
      'suspend',
      unsaving({ progress: progressAt(1_234) }),
      /GPUs become free\. It saves no checkpoints, so its 1,234 steps are lost\.$/,
    ],
    [
      'a cancel the steps after the newest checkpoint are counted',
      'cancel',
      aJob(trained),
      /^It ends for good.*If they do not save in time, the 34 steps after step 1,200 are lost\.$/,
    ],
    [
      'a cancel of a job without a checkpoint all steps are counted',
      'cancel',
      listed({ progress: progressAt(1) }),
      /If they do not save in time, the 1 step is lost\.$/,
    ],
    ['a cancel of a job that waits no step is lost', 'cancel', aJob({ state: 'Queued' }), /Its checkpoints stay\.$/],
    ['a delete of a job that ended no step is lost', 'delete', aJob({ ...trained, state: 'Failed' }), /record stay\.$/],
    [
      'a delete of a job that runs steps are lost',
      'delete',
      aJob(trained),
      /record stay\. Its ranks get time.* are lost\.$/,
    ],
    [
      'a cancel of a suspended job no step is lost',
      'cancel',
      aJob({ ...trained, state: 'Suspended', spec: { suspend: true } }),
      /Its checkpoints stay\.$/,
    ],
  ])('%s', (_sentence, action, job, want) => {
    const warning = warningOf(action, job);
    if (want === undefined) expect(warning).toBeUndefined();
    else expect(warning).toMatch(want);
  });
});
