import { aTrainingJob } from '@coxswain/api-types/testing';
import { WaitingCount } from './waiting-count.ts';

it('jobs that wait are counted at most every ten seconds', () => {
  const condition = { type: 'Placed', status: 'False', reason: 'WaitingForCapacity' } as const;
  const conditions = [{ ...condition, message: '', lastTransitionTime: '', observedGeneration: 1 }];
  const waits = aTrainingJob({ status: { epoch: 0, restarts: { total: 0, charged: 0 }, conditions } });
  const jobs = [aTrainingJob(), waits];
  let nowMs = 0;
  const count = new WaitingCount({ jobs: () => jobs, monotonicMs: () => nowMs });
  const at = (ms: number): number => {
    nowMs = ms;
    return count.jobs;
  };
  const first = at(0);
  jobs.push(waits);
  expect([first, at(9_999), at(10_000)]).toEqual([1, 1, 2]);
});
