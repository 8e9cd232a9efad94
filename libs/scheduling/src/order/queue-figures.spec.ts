import type { Condition, JobState, TrainingJob } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { queueFigures } from './queue-figures.ts';

const NOW = Date.parse('2026-01-10T12:00:00Z');
const aJob = (state: JobState, reason: Condition['reason'], askedAt: string): TrainingJob => ({
  ...aTrainingJob(),
  status: {
    ...{ state, askedAt, epoch: 0, restarts: { total: 0, charged: 0 } },
    conditions: [
      {
        ...{ type: 'Placed', status: 'False', reason, message: '', observedGeneration: 1 },
        lastTransitionTime: '2026-01-10T00:00:00Z',
      },
    ],
  },
});

it('counts jobs by state, those that are not placed by reason, and the longest wait for GPUs', () => {
  const jobs = [
    aJob('Queued', 'WaitingForCapacity', '2026-01-10T11:00:00Z'),
    aJob('Restarting', 'WaitingForCapacity', '2026-01-10T10:00:00Z'),
    aJob('Queued', 'ObjectMissing', '2026-01-10T01:00:00Z'),
    aJob('Suspended', 'Suspended', '2026-01-10T01:00:00Z'),
    aTrainingJob(),
  ];
  expect(queueFigures(jobs, NOW)).toEqual({
    jobsByState: { Queued: 3, Restarting: 1, Suspended: 1 },
    waitingByReason: { WaitingForCapacity: 2, ObjectMissing: 1 },
    oldestWaitSeconds: 7_200,
  });
  expect(queueFigures([], NOW)).toEqual({ jobsByState: {}, waitingByReason: {}, oldestWaitSeconds: 0 });
});
