import type { TrainingJob } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { isWaitingForCapacity, isWaitingForNodes, waitingSince } from './waiting-jobs.ts';

describe('a job whose condition', () => {
  it.each([
    ['Placed', 'WaitingForCapacity', { gpus: true, nodes: true }],
    ['Placed', 'TopologyUnsatisfiable', { gpus: true, nodes: true }],
    ['Placed', 'WaitingForPlan', { gpus: false, nodes: true }],
    ['Placed', 'Planning', { gpus: false, nodes: true }],
    ['Placed', 'Suspended', { gpus: false, nodes: false }],
    ['Accepted', 'NoLayoutFits', { gpus: false, nodes: true }],
    ['Accepted', 'InvalidSpec', { gpus: false, nodes: false }],
  ] as const)('%s is false because of %s waits for %j', (type, reason, want) => {
    const condition = {
      type,
      status: 'False',
      reason,
      message: '',
      lastTransitionTime: '',
      observedGeneration: 1,
    } as const;
    const status = { epoch: 1, restarts: { total: 0, charged: 0 }, conditions: [condition] };
    const job = aTrainingJob({ status });
    expect({ gpus: isWaitingForCapacity(job), nodes: isWaitingForNodes(job) }).toEqual(want);
  });

  it('does not say anything yet waits for nothing', () => {
    const job = aTrainingJob();
    expect([isWaitingForCapacity(job), isWaitingForNodes(job)]).toEqual([false, false]);
  });
});

describe('the order of waiting jobs goes by', () => {
  const status = (askedAt?: string): TrainingJob['status'] => ({
    epoch: 1,
    restarts: { total: 0, charged: 0 },
    ...(askedAt === undefined ? {} : { askedAt }),
    conditions: [
      {
        type: 'Placed',
        status: 'False',
        reason: 'WaitingForCapacity',
        message: '',
        lastTransitionTime: '2026-01-03T00:00:00Z',
        observedGeneration: 1,
      },
    ],
  });
  const metadata = { creationTimestamp: '2026-01-01T00:00:00Z' };
  it.each([
    ['the time at which the run asked', { metadata, status: status('2026-01-02T00:00:00Z') }, '2026-01-02T00:00:00Z'],
    [
      'the last change of Placed in a status of the release before',
      { metadata, status: status() },
      '2026-01-03T00:00:00Z',
    ],
    ['its creation, before it has a status', { metadata }, '2026-01-01T00:00:00Z'],
  ])('%s', (_sentence, about, want) => {
    expect(waitingSince(aTrainingJob(about))).toBe(want);
  });
});
