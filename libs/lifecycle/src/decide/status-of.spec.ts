import { findCondition, type TrainingJob } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { decide } from './decide.ts';
import type { Observed } from '../observation/observed.ts';
import { aCapacity, aCheckpoint, aNode, aPod, observe } from '../testing/index.ts';
import { aJob, aRunningJob, aStatus, NOW, settled, summaryOfCondition } from '../testing/jobs.ts';

describe('what a job says of itself', () => {
  const waiting = aCapacity([aNode(), aNode({ name: 'node-b' })], { 'node-a': 1 });
  const cases: readonly {
    readonly name: string;
    readonly seen: Observed;
    readonly want: string;
    readonly placed: string;
  }[] = [
    {
      name: 'a job that can be placed and has no finalizer yet',
      seen: observe({ job: aTrainingJob() }),
      want: 'Queued',
      placed: 'False/Placing',
    },
    { name: 'a job that is placed', seen: observe(), want: 'Starting', placed: 'True/GangPlaced' },
    {
      name: 'a job without room',
      seen: observe({ capacity: () => waiting }),
      want: 'Queued',
      placed: 'False/WaitingForCapacity',
    },
    {
      name: 'a job that no NVLink domain can hold',
      seen: observe({
        job: aJob({ spec: { layout: { tensorParallelDegree: 4 } } }),
        capacity: () => aCapacity([aNode({ labels: {} }), aNode({ name: 'node-b', labels: {} })]),
      }),
      want: 'Queued',
      placed: 'False/TopologyUnsatisfiable',
    },
    {
      name: 'a suspended job',
      seen: observe({ job: aJob({ spec: { suspend: true } }) }),
      want: 'Suspended',
      placed: 'False/Suspended',
    },
    {
      name: 'a cancelled job',
      seen: observe({ job: aJob({ spec: { cancel: true, suspend: true } }) }),
      want: 'Cancelled',
      placed: 'False/Finished',
    },
    { name: 'a running job', seen: aRunningJob({}), want: 'Running', placed: 'True/GangPlaced' },
    {
      name: 'a job that stops for a suspend',
      seen: aRunningJob({ spec: { spec: { suspend: true } } }),
      want: 'Suspending',
      placed: 'True/GangPlaced',
    },
    {
      name: 'a job that stops for good',
      seen: aRunningJob({ spec: { spec: { cancel: true } } }),
      want: 'Stopping',
      placed: 'True/GangPlaced',
    },
    {
      name: 'a job whose ranks all finished',
      seen: aRunningJob({ pods: (job) => [0, 1].map((podIndex) => aPod(job, { podIndex, phase: 'Succeeded' })) }),
      want: 'Complete',
      placed: 'False/Finished',
    },
  ];
  it.each(cases)('$name is $want, placed $placed', ({ seen, want, placed }) => {
    const { status } = settled(seen);
    expect(status.state).toBe(want);
    expect(summaryOfCondition(status, 'Placed')).toBe(placed);
    expect(status.summary).not.toBe('');
  });

  it.each([
    ['every half minute', 600, 30_000],
    ['less often if thousands wait', 2_000, 100_000],
    ['in five minutes, however many wait', 100_000, 300_000],
  ])('that waits for room is looked at again %s', (_sentence, waitingCount, requeueAfterMs) => {
    const seen = observe({ capacity: () => waiting, waitingCount: () => waitingCount });
    expect(settled(seen)).toMatchObject({ actions: [], requeueAfterMs });
  });

  it('refuses a layout that does not divide the model, and places nothing', () => {
    const { status, actions } = settled(observe({ job: aJob({ spec: { layout: { tensorParallelDegree: 3 } } }) }));
    expect(summaryOfCondition(status, 'Accepted')).toBe('False/LayoutInvalid');
    expect(summaryOfCondition(status, 'Placed')).toBe('False/NotAccepted');
    expect(status.summary).toContain('layout.tensorParallelDegree 3 does not divide attentionHeads 4');
    expect(actions).toEqual([]);
  });

  it('names an image that cannot be had, in words that do not change with each attempt to pull it', () => {
    const messages = ['ErrImagePull', 'ImagePullBackOff'].map((reason) => {
      const containerWaiting = { reason, message: `${reason}: details`, image: 'no/such:image' };
      const pods = (job: TrainingJob) =>
        [0, 1].map((podIndex) => aPod(job, { podIndex, running: false, phase: 'Pending' as const, containerWaiting }));
      return decide(aRunningJob({ pods }), NOW).status.summary;
    });
    expect(new Set(messages)).toEqual(new Set(['Image no/such:image cannot be pulled on node node-a.']));
  });

  it('moves a transition time only with its status', () => {
    const first = decide(observe({ job: aTrainingJob() }), NOW).status;
    const later = decide(
      observe({ job: aJob({ metadata: { generation: 2 }, status: first }), capacity: () => waiting }),
      new Date('2026-01-02T00:00:00Z'),
    );
    expect(findCondition(later.status.conditions, 'Placed')).toMatchObject({
      reason: 'WaitingForCapacity',
      observedGeneration: 2,
      lastTransitionTime: NOW.toISOString(),
    });
  });

  it('reports progress of its own epoch only, at most every 15 s', () => {
    const progress = { epoch: 1, step: 7, loss: 2.5 };
    const recorded = { step: 5, reportedAt: '2026-01-01T00:19:50Z' };
    const soon = decide(aRunningJob({ status: { progress: recorded }, observed: { progress } }), NOW);
    expect(soon.status.progress).toEqual(recorded);
    expect(soon.requeueAfterMs).toBe(5_000);
    const due = decide(
      aRunningJob({ status: { progress: recorded }, observed: { progress } }),
      new Date('2026-01-01T00:20:05Z'),
    );
    expect(due.status.progress).toMatchObject({ step: 7, totalSteps: 100, loss: 2.5 });
    const stale = decide(aRunningJob({ observed: { progress: { ...progress, epoch: 0 } } }), NOW);
    expect(stale.status.progress).toBeUndefined();
  });

  it('says what changed under its gang, while there is one and as long as it lasts', () => {
    const fabricChange = 'Job research/tiny-gpt runs on node-a, whose island was a and is b now.';
    const { status } = settled(aRunningJob({ observed: { fabricChange } }));
    expect(summaryOfCondition(status, 'FabricAsPlaced')).toBe('False/LabelsChanged');
    expect(findCondition(status.conditions, 'FabricAsPlaced')?.message).toBe(fabricChange);
    const putBack = settled(aRunningJob({ status })).status;
    expect(summaryOfCondition(putBack, 'FabricAsPlaced')).toBeUndefined();
    const suspended = observe({ fabricChange, job: aJob({ spec: { suspend: true } }) });
    expect(summaryOfCondition(decide(suspended, NOW).status, 'FabricAsPlaced')).toBeUndefined();
  });

  it('says while it waits for room whether nodes are asked for', () => {
    const nodeRequest = { holds: true, reason: 'Requested', message: 'ProvisioningRequest x asks.' } as const;
    const waits = decide(observe({ nodeRequest, capacity: () => aCapacity([aNode()]) }), NOW).status;
    expect(summaryOfCondition(waits, 'NodesRequested')).toBe('True/Requested');
    expect(waits.summary).toMatch(/^Needs 4 GPUs/);
    expect(summaryOfCondition(decide(observe({ nodeRequest }), NOW).status, 'NodesRequested')).toBeUndefined();
  });

  it('says what was seen to be trained', () => {
    const seen = 'Rank 0 trains with 4 ranks over gloo.';
    const { status } = settled(
      aRunningJob({ observed: { trained: { epoch: 1, incarnation: 1, seen, differences: [] } } }),
    );
    expect(status.attempts?.at(-1)?.trained).toEqual({ incarnation: 1, seen, differences: [] });
    expect(findCondition(status.conditions, 'TrainedAsAsked')?.message).toMatch(
      /as far as they have reported\. Rank 0 trains with 4/,
    );
  });

  it.each<[string, readonly string[] | undefined, string | undefined, string | undefined]>([
    ['says nothing of what is trained before a hook has told', undefined, undefined, undefined],
    ['is trained as asked where nothing differs', [], 'True/NothingDiffers', 'The ranks of attempt 1 train as the layout asks, as far as they have reported.'], // prettier-ignore
    ['says in what its training differs', ['Rank 0 is alone.', 'Rank 2 as well.'], 'False/LayoutDiffers', 'Rank 0 is alone. Rank 2 as well.'], // prettier-ignore
  ])('%s, and runs on', (_sentence, differences, condition, message) => {
    const trained =
      differences === undefined ? {} : { trained: { epoch: 1, incarnation: 1, differences: [...differences] } };
    const { status } = settled(aRunningJob({ observed: trained }));
    expect(summaryOfCondition(status, 'TrainedAsAsked')).toBe(condition);
    expect(findCondition(status.conditions, 'TrainedAsAsked')?.message).toBe(message);
    expect(status.state).toBe('Running');
    expect(status.summary?.includes('Not as asked: Rank 0 is alone.')).toBe(condition === 'False/LayoutDiffers');
  });

  it.each([
    ['keeps its checkpoint though it is not seen', [], 80],
    ['lets it fall back to the newest that is left, once it is seen to be damaged', ['Damaged'], 20],
    ['keeps it where it is complete', ['Complete'], 80],
  ] as const)('%s', (_sentence, states, want) => {
    const checkpoint = { name: 'tiny-gpt-3f1c2b9e-e1-s80', step: 80 };
    const job = aJob({ spec: { suspend: true }, status: aStatus({ attempts: [], checkpoint }) });
    const newer = states.map((state) => aCheckpoint(job, { spec: { step: 80 }, status: { state } }));
    const { status } = decide(observe({ job, checkpoints: [aCheckpoint(job), ...newer] }), NOW);
    expect(status.checkpoint?.step).toBe(want);
  });
});
