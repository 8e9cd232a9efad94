import type { Checkpoint } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { decide } from './decide.ts';
import type { Observed, ObservedPod } from '../observation/observed.ts';
import { aCheckpoint, anExit, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, aStatus, kinds, NOW, settled } from '../testing/jobs.ts';

describe('what is done about a job', () => {
  const job = aJob();
  const gated = (podIndex: number): ObservedPod => {
    const { nodeName: _, ...pod } = aPod(job, { podIndex, gated: true, phase: 'Pending', running: false });
    return pod;
  };
  const creating = aStatus({ attempts: [anAttempt({ stage: 'Creating' })] });
  const held = { ...job, status: creating };

  const cases: readonly { readonly name: string; readonly seen: Observed; readonly want: readonly string[] }[] = [
    {
      name: 'a new job gets its finalizer before anything is made',
      seen: observe({ job: aTrainingJob() }),
      want: ['addFinalizer'],
    },
    { name: 'a placeable job gets a Placement of epoch 1', seen: observe(), want: ['createPlacement'] },
    {
      name: 'a recorded Placement is continued, never placed again: every pod of it is created',
      seen: observe({ job: held, placements: [aPlacement(job, { nodes: ['node-x', 'node-y'] })] }),
      want: ['createPod', 'createPod'],
    },
    {
      name: 'a pod missing while the gang is created is created',
      seen: observe({ job: held, placements: [aPlacement(job)], pods: [gated(0)] }),
      want: ['createPod'],
    },
    {
      name: 'all gates are lifted once all pods exist',
      seen: observe({ job: held, placements: [aPlacement(job)], pods: [gated(0), gated(1)] }),
      want: ['liftGates'],
    },
    { name: 'a running gang is left alone', seen: aRunningJob({}), want: [] },
    {
      name: 'a failed rank ends the gang: the launchers of the others are told before their pods are deleted',
      seen: aRunningJob({
        pods: (one) => [aPod(one, { phase: 'Failed', exit: anExit() }), aPod(one, { podIndex: 1 })],
      }),
      want: ['refuseLaunchers', 'deletePods'],
    },
    {
      name: 'an evicted gang that stops in good order is only deleted, so that it may save together',
      seen: aRunningJob({
        pods: (one) => [
          aPod(one, { phase: 'Failed', exit: anExit({ exitCode: 75 }, { kind: 'stopped' }) }),
          aPod(one, { podIndex: 1 }),
        ],
      }),
      want: ['deletePods'],
    },
    {
      name: 'suspend deletes the gang',
      seen: aRunningJob({ spec: { spec: { suspend: true } } }),
      want: ['deletePods'],
    },
    {
      name: 'a gang that is being deleted already is only waited for',
      seen: aRunningJob({
        spec: { spec: { suspend: true } },
        pods: (one) => [0, 1].map((podIndex) => aPod(one, { podIndex, deletionTimestamp: NOW.toISOString() })),
      }),
      want: [],
    },
    {
      name: 'deleting a job deletes its pods first',
      seen: aRunningJob({ spec: { metadata: { deletionTimestamp: NOW.toISOString() } } }),
      want: ['deletePods'],
    },
    {
      name: 'a deleted job waits for a pod that belongs to no attempt under way',
      seen: observe({
        job: aJob({ metadata: { deletionTimestamp: NOW.toISOString() } }),
        pods: [aPod(job, { epoch: 7, deletionTimestamp: NOW.toISOString() })],
      }),
      want: [],
    },
    {
      name: 'a deleted job without pods lets go of its finalizer',
      seen: observe({ job: aJob({ metadata: { deletionTimestamp: NOW.toISOString() } }) }),
      want: ['removeFinalizer'],
    },
    {
      name: 'a deleted job whose finalizer is gone is left alone',
      seen: observe({ job: aTrainingJob({ metadata: { finalizers: [], deletionTimestamp: NOW.toISOString() } }) }),
      want: [],
    },
    {
      name: 'a live pod of an earlier epoch is deleted, and no pod is created while it lives',
      seen: observe({
        job: { ...job, status: aStatus({ attempts: [anAttempt({ epoch: 2, stage: 'Creating' })] }) },
        placements: [aPlacement(job, { epoch: 2 })],
        pods: [aPod(job, { epoch: 1 })],
      }),
      want: ['deletePods'],
    },
    {
      name: 'a pod of a finished job is deleted',
      seen: observe({
        job: { ...job, status: { ...decide(observe({ job: aJob({ spec: { cancel: true } }) }), NOW).status } },
        pods: [aPod(job)],
      }),
      want: ['deletePods'],
    },
    {
      name: 'a checkpoint that only the termination message tells of is recorded before the end of its gang is',
      seen: savedUnheard(),
      want: ['createCheckpoint'],
    },
    {
      name: 'one whose record was begun and not finished is recorded all the same',
      seen: savedUnheard({ checkpoints: [withoutState(aCheckpoint(aJob(), { spec: { step: 40 } }))] }),
      want: ['createCheckpoint'],
    },
    {
      name: 'one that is recorded already is not recorded again',
      seen: savedUnheard({ checkpoints: [aCheckpoint(aJob(), { spec: { step: 40 } })] }),
      want: ['createPlacement'],
    },
  ];
  it.each(cases)('$name', ({ seen, want }) => {
    expect(kinds(settled(seen).actions)).toEqual(want);
  });

  it('names every create and delete by what cannot be mistaken', () => {
    const { actions } = settled(
      aRunningJob({ pods: (one) => [aPod(one, { phase: 'Failed', exit: anExit() }), aPod(one, { podIndex: 1 })] }),
    );
    const name = 'tiny-gpt-3f1c2b9e-e1-1';
    expect(actions).toEqual([
      { kind: 'refuseLaunchers', epoch: 1 },
      { kind: 'deletePods', pods: [{ name, uid: `uid-of-${name}` }], gracePeriodSeconds: 1 },
    ]);
  });

  it.each([
    { name: 'a whole gang gets its grace to save', exit: undefined, want: 60 },
    {
      name: 'a gang that is stopping together keeps its grace',
      exit: anExit({ exitCode: 75 }, { kind: 'stopped' }),
      want: 60,
    },
    { name: 'a gang that lost a rank while saving is not waited for', exit: anExit(), want: 1 },
  ])('$name', ({ exit, want }) => {
    const stopping = anAttempt({ stage: 'Stopping', outcome: 'Suspended', reason: 'SuspendRequested' });
    const { actions } = settled(
      aRunningJob({
        spec: { spec: { suspend: true } },
        status: { attempts: [stopping] },
        pods: (one) => [aPod(one, exit === undefined ? {} : { phase: 'Failed', exit }), aPod(one, { podIndex: 1 })],
      }),
    );
    expect(actions).toMatchObject([{ kind: 'deletePods', gracePeriodSeconds: want }]);
  });

  it('asks for nothing that its recorded status does not justify', () => {
    const observed = aRunningJob({ pods: (one) => [aPod(one, { phase: 'Failed', exit: anExit() })] });
    const { status } = decide(observed, NOW);
    expect(decide({ ...observed, job: { ...observed.job, status } }, NOW).status).toEqual(status);
  });
});

describe('the ComputeDomain of a gang whose runtime asks for one', () => {
  const job = aJob();
  const runtime = {
    kind: 'ClusterTrainingRuntime' as const,
    name: 'gb200',
    uid: 'u',
    generation: 1,
    computeDomain: {},
    template: {},
  };
  const placement = aPlacement(job, { runtime });
  const placements = [placement];
  const creating = { ...job, status: aStatus({ attempts: [anAttempt({ stage: 'Creating' })] }) };
  const gated = (podIndex: number): ObservedPod => {
    const { nodeName: _, ...pod } = aPod(job, { podIndex, gated: true, phase: 'Pending', running: false });
    return pod;
  };
  const ended = (podIndex: number): ObservedPod => aPod(job, { podIndex, phase: 'Failed', exit: anExit(), held: true });
  const over = { ...job, status: aStatus({ attempts: [anAttempt({ stage: 'Ended', outcome: 'Failed' })] }) };

  it.each<{ readonly name: string; readonly seen: Observed; readonly want: readonly string[] }>([
    {
      name: 'is made before the first pod',
      seen: observe({ job: creating, placements }),
      want: ['createComputeDomain', 'createPod', 'createPod'],
    },
    {
      name: 'is asked for again while pods are missing, which is harmless',
      seen: observe({ job: creating, placements, pods: [gated(0)] }),
      want: ['createComputeDomain', 'createPod'],
    },
    {
      name: 'goes before the last pods are let go of, so that a crash between leaves nothing',
      seen: observe({ job: over, placements, pods: [ended(0), ended(1)] }),
      want: ['deleteComputeDomain', 'releasePods'],
    },
    {
      name: 'stays while a pod of the gang may run',
      seen: observe({ job: over, placements, pods: [ended(0), aPod(job, { podIndex: 1 })] }),
      want: ['releasePods'],
    },
  ])('$name', ({ seen, want }) => {
    const { actions } = settled(seen);
    const wanted = ['createComputeDomain', 'createPod', 'deleteComputeDomain', 'releasePods'];
    expect(kinds(actions).filter((kind) => wanted.includes(kind))).toEqual(want);
  });
});

/** A gang that failed and left a checkpoint of step 40 that only a termination message tells of. */
function savedUnheard(observed: Partial<Observed> = {}): Observed {
  const saved = {
    step: 40,
    directory: 'step-40',
    format: 'torch_dcp',
    bytes: 5,
    files: 1,
    manifestSha256: 'b'.repeat(64),
  };
  return aRunningJob({
    status: { attempts: [anAttempt({ stage: 'Stopping', outcome: 'Failed', answer: 'Restart', charged: true })] },
    pods: (one) => [aPod(one, { phase: 'Failed', exit: anExit({}, { unreportedCheckpoints: [saved] }) })],
    observed,
  });
}

function withoutState({ status: _, ...checkpoint }: Checkpoint): Checkpoint {
  return checkpoint;
}
