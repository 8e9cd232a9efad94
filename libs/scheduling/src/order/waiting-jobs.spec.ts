import { aTrainingJob } from '@coxswain/api-types/testing';
import { isWaitingForCapacity, isWaitingForNodes } from './waiting-jobs.ts';

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
