import { POD_ENV } from '@coxswain/api-types';
import { trackedRun } from './tracked-run.ts';

const uid = '3f1c2b9e-0000-4000-8000-000000000001';
const ofJob = { [POD_ENV.jobUid]: uid };

describe('the run that a rank tells Weights & Biases of', () => {
  it.each<[string, Record<string, string | undefined>, number, object]>([
    ['is the job, of the first rank', ofJob, 0, { WANDB_RUN_ID: uid, WANDB_RESUME: 'allow' }],
    ['is one of its own, of another rank', ofJob, 7, { WANDB_RUN_ID: `${uid}-rank-7`, WANDB_RESUME: 'allow' }],
    [
      'is the same in the next epoch',
      { ...ofJob, [POD_ENV.epoch]: '9' },
      0,
      { WANDB_RUN_ID: uid, WANDB_RESUME: 'allow' },
    ],
    ['is what the user says', { ...ofJob, WANDB_RUN_ID: 'mine' }, 0, {}],
    ['is none where the user says an empty one', { ...ofJob, WANDB_RUN_ID: '' }, 0, {}],
    ['goes on as the user says', { ...ofJob, WANDB_RESUME: 'must' }, 0, { WANDB_RUN_ID: uid, WANDB_RESUME: 'must' }],
    ['is none where no job is known', {}, 0, {}],
  ])('%s', (_sentence, environment, rank, want) => {
    expect(trackedRun(environment, rank)).toEqual(want);
  });
});
