import type { Attempt } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { type GpuPod, gpusInUse } from './index.ts';
import { aPlacement } from './testing/index.ts';

const job = aTrainingJob();
const gang = { jobUid: job.metadata.uid, epoch: 1 };

function withStage(stage: Attempt['stage']): typeof job {
  const { layout } = job.spec;
  const attempts: Attempt[] = [{ epoch: 1, stage, placement: 'p', layout, startedAt: '2026-01-01T00:00:00Z' }];
  return { ...job, status: { epoch: 1, restarts: { total: 0, charged: 0 }, attempts } };
}

describe('GPUs in use', () => {
  const bound: GpuPod = { nodeName: 'node-a', gpus: 2, terminal: false, gang };
  const cases: readonly {
    readonly name: string;
    readonly job: typeof job;
    readonly pods: readonly GpuPod[];
    readonly want: object;
  }[] = [
    {
      name: 'are those of a Placement whose attempt is not recorded yet',
      job,
      pods: [],
      want: { 'node-a': 2, 'node-b': 2 },
    },
    {
      name: 'are not counted twice once its pods are bound',
      job: withStage('Released'),
      pods: [bound],
      want: { 'node-a': 2, 'node-b': 2 },
    },
    { name: 'are given back when the attempt has ended', job: withStage('Ended'), pods: [], want: {} },
    {
      name: 'are still held by a pod of an ended attempt that will not go',
      job: withStage('Ended'),
      pods: [bound],
      want: { 'node-a': 2 },
    },
    {
      name: 'are those of strangers’ pods',
      job: withStage('Ended'),
      pods: [{ nodeName: 'node-b', gpus: 1, terminal: false }],
      want: { 'node-b': 1 },
    },
    {
      name: 'are not those of pods that ended or have no node',
      job: withStage('Ended'),
      pods: [
        { nodeName: 'node-b', gpus: 1, terminal: true },
        { gpus: 1, terminal: false },
      ],
      want: {},
    },
  ];
  it.each(cases)('$name', ({ job: owner, pods, want }) => {
    const used = gpusInUse({ jobs: [owner], placements: [aPlacement(owner)], pods });
    expect(Object.fromEntries(used)).toEqual(want);
  });

  it('are not held by the Placement of a job that is gone', () => {
    expect(gpusInUse({ jobs: [], placements: [aPlacement(job)], pods: [] }).size).toBe(0);
  });
});
