import type { Attempt, TrainingJob } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { queuedJob } from './queued-job.ts';

const REQUEST = { layout: aLayout({ dataParallelDegree: 2 }), gpusPerNode: 1 };
const GROWTH = { layout: aLayout({ dataParallelDegree: 4 }), gpusPerNode: 1 };

/** A job whose attempt 3 is in that stage. */
function aJob(stage: Attempt['stage']): TrainingJob {
  const attempt: Attempt = {
    epoch: 3,
    stage,
    placement: 'gpt-3',
    placementSha256: 'a'.repeat(64),
    layout: REQUEST.layout,
    startedAt: '2026-01-01T00:00:00Z',
  };
  return { ...aTrainingJob(), status: { epoch: 3, restarts: { total: 2, charged: 0 }, attempts: [attempt] } };
}

/** `size > size on all GPUs`, as its queue is asked. */
function asked(stage: Attempt['stage'], epoch: number): string {
  const { digest, growth } = queuedJob(aJob(stage), { epoch, request: REQUEST, room: undefined, growth: GROWTH });
  return [digest, growth].map((one) => one?.split('/')[1] ?? 'nothing').join(' > ');
}

describe('what a job asks its queue for', () => {
  it.each<[string, Attempt['stage'], number, string]>([
    ['is what its running attempt has, and would have on all GPUs', 'Released', 3, '2x1 > 4x1'],
    ['is what the next attempt needs when one has ended', 'Ended', 4, '2x1 > 4x1'],
    ['is not what an attempt had that has ended, because the next one may be larger', 'Ended', 3, 'nothing > nothing'],
    ['is not what the next attempt would need while one stops', 'Stopping', 4, 'nothing > nothing'],
  ])('%s', (_what, stage, epoch, expected) => {
    expect(asked(stage, epoch)).toBe(expected);
  });

  it.each<[Attempt['stage'], boolean]>([
    ['Creating', false],
    ['Released', true],
    ['Stopping', false],
    ['Ended', false],
  ])('may grow while its attempt is %s: %s', (stage, expected) => {
    expect(queuedJob(aJob(stage), undefined).isSettled).toBe(expected);
  });
});
