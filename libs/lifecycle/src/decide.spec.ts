import {
  type Attempt,
  type Checkpoint,
  FINALIZER,
  findCondition,
  type TrainingJob,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { decide, podName } from './index.ts';
import type { Action, Decision, ObservedPod } from './index.ts';
import type { Observed } from './observed.ts';
import { aCapacity, aCheckpoint, anExit, aNode, aPlacement, aPod, observe } from './testing/index.ts';

const NOW = new Date('2026-01-01T00:20:00Z');
const EARLIER = '2026-01-01T00:10:00Z';

function aJob(spec: Parameters<typeof aTrainingJob>[0] = {}): ReturnType<typeof aTrainingJob> {
  return aTrainingJob({ ...spec, metadata: { finalizers: [FINALIZER], ...spec.metadata } });
}

function anAttempt(overrides: Partial<Attempt> = {}): Attempt {
  const { epoch = 1 } = overrides;
  return {
    epoch,
    stage: 'Released',
    placement: `tiny-gpt-3f1c2b9e-e${epoch}`,
    layout: aJob().spec.layout,
    startedAt: EARLIER,
    releasedAt: '2026-01-01T00:19:00Z',
    ...overrides,
  };
}

function aStatus(overrides: Partial<TrainingJobStatus> = {}): TrainingJobStatus {
  const attempts = overrides.attempts ?? [anAttempt()];
  return { epoch: attempts.at(-1)?.epoch ?? 0, restarts: { total: 0, charged: 0 }, ...overrides, attempts };
}

/** A job of epoch 1 with two running pods, unless told otherwise. */
function aRunningJob(about: {
  readonly status?: Partial<TrainingJobStatus>;
  readonly spec?: Parameters<typeof aTrainingJob>[0];
  readonly pods?: (job: TrainingJob) => readonly ObservedPod[];
  readonly observed?: Partial<Observed>;
}): Observed {
  const job = aJob({ ...about.spec, status: aStatus(about.status) });
  const pods = about.pods?.(job) ?? [aPod(job), aPod(job, { podIndex: 1 })];
  return observe({ job, pods, placements: [aPlacement(job)], ...about.observed });
}

/** The decision once nothing is left to be recorded: what the performer acts on. */
function settled(observed: Observed, now = NOW): Decision {
  let job = observed.job;
  for (let pass = 0; pass < 3; pass++) job = { ...job, status: decide({ ...observed, job }, now).status };
  return decide({ ...observed, job }, now);
}

const kinds = (actions: readonly Action[]): readonly string[] => actions.map((action) => action.kind);

function summaryOfCondition(
  status: TrainingJobStatus,
  type: 'Placed' | 'Running' | 'Accepted' | 'Suspended' | 'Failed',
) {
  const condition = findCondition(status.conditions, type);
  return condition === undefined ? undefined : `${condition.status}/${condition.reason}`;
}

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
      seen: observe({ placements: [aPlacement(job, { nodes: ['node-x', 'node-y'] })] }),
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
      name: 'a pod that a cache does not show is looked for before anything is concluded',
      seen: aRunningJob({ pods: (one) => [aPod(one)] }),
      want: ['confirmMissingPods'],
    },
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
      name: 'a checkpoint that only the termination message tells of is recorded before the next epoch is placed',
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

describe('why an attempt ends', () => {
  const failed =
    (exit: ObservedPod['exit'], more: Partial<ObservedPod> = {}) =>
    (job: TrainingJob) => [
      aPod(job, { phase: 'Failed', running: false, ...(exit === undefined ? {} : { exit }), ...more }),
      aPod(job, { podIndex: 1 }),
    ];
  const cases: readonly {
    readonly name: string;
    readonly pods?: (job: TrainingJob) => readonly ObservedPod[];
    readonly observed?: Partial<Observed>;
    readonly want: Partial<Attempt>;
  }[] = [
    { name: 'exit 1', pods: failed(anExit()), want: { reason: 'EngineFailed', charged: true, answer: 'Restart' } },
    {
      name: 'exit 137 without a word',
      pods: failed({ exitCode: 137, reason: 'OOMKilled' }),
      want: { reason: 'EngineFailed', charged: true },
    },
    {
      name: 'exit 93',
      pods: failed(anExit({ exitCode: 93 }, { kind: 'doNotRestart' })),
      want: { reason: 'DoNotRestart', answer: 'GiveUp' },
    },
    {
      name: 'exit 71',
      pods: failed({ exitCode: 71, reason: 'Error' }),
      want: { reason: 'RendezvousPortLost', charged: false, answer: 'Restart' },
    },
    {
      name: 'exit 72',
      pods: failed({ exitCode: 72, reason: 'Error' }),
      want: { reason: 'CheckpointUnreadable', charged: false },
    },
    {
      name: 'exit 75 that nobody asked for',
      pods: failed({ exitCode: 75, reason: 'Error' }),
      want: { reason: 'Evicted', charged: false },
    },
    {
      name: 'a disruption',
      pods: failed({ exitCode: 143, reason: 'Error' }, { disruption: 'PreemptionByScheduler' }),
      want: { reason: 'Evicted', charged: false },
    },
    {
      name: 'a pod that its node turned away',
      pods: failed(undefined, { statusReason: 'OutOfnvidia.com/gpu' }),
      want: { reason: 'Evicted', charged: false },
    },
    {
      name: 'a pod that ended without a word',
      pods: failed(undefined),
      want: { reason: 'LauncherFailed', charged: true },
    },
    {
      name: 'a pod that a live read did not find',
      pods: (job) => [aPod(job)],
      observed: { confirmedMissing: new Set(['tiny-gpt-3f1c2b9e-e1-1']) },
      want: { reason: 'PodLost', charged: true },
    },
    {
      name: 'a missing pod whose node is gone',
      pods: (job) => [aPod(job)],
      observed: { nodeStates: new Map([['node-b', 'gone']]) },
      want: { reason: 'NodeLost', charged: false },
    },
    {
      name: 'a node that does not answer, also when its peers fail for it',
      pods: failed(anExit()),
      observed: { nodeStates: new Map([['node-b', 'notReady']]) },
      want: { reason: 'NodeLost', charged: false },
    },
    {
      name: 'another pod of the same name',
      pods: (job) => [aPod(job), aPod(job, { podIndex: 1, ours: false })],
      want: { reason: 'NameConflict', answer: 'GiveUp' },
    },
    {
      name: 'the earliest of two failures',
      pods: (job) => [
        aPod(job, { phase: 'Failed', exit: anExit({ finishedAt: '2026-01-01T00:10:05Z' }, { rank: 0 }) }),
        aPod(job, { podIndex: 1, phase: 'Failed', exit: anExit({ finishedAt: '2026-01-01T00:10:01Z' }, { rank: 3 }) }),
      ],
      want: { message: expect.stringContaining('Rank 3 on node node-b exited with code 1.') as unknown as string },
    },
  ];
  it.each(cases)('$name: $want.reason', ({ pods, observed, want }) => {
    const { status } = decide(
      aRunningJob({ ...(pods === undefined ? {} : { pods }), ...(observed === undefined ? {} : { observed }) }),
      NOW,
    );
    expect(status.attempts?.at(-1)).toMatchObject({ outcome: 'Failed', ...want });
  });

  it('is not looked for while some ranks have finished and others still run', () => {
    const { status } = decide(
      aRunningJob({ pods: (job) => [aPod(job, { phase: 'Succeeded' }), aPod(job, { podIndex: 1 })] }),
      NOW,
    );
    expect(status.attempts?.at(-1)).toMatchObject({ stage: 'Released' });
  });

  it('holds rank, node, exit code and last lines', () => {
    const { status } = decide(aRunningJob({ pods: failed(anExit()) }), NOW);
    expect(status.attempts?.at(-1)?.message).toBe(
      'Rank 1 on node node-a exited with code 1.\nLast lines of its log:\nTraceback (most recent call last):\nValueError: planted',
    );
  });

  it('is NotScheduled when the gang has no nodes five minutes after its gates were lifted', () => {
    const { nodeName: _, ...pending } = aPod(aJob(), { podIndex: 1, phase: 'Pending', running: false });
    const observed = aRunningJob({ pods: (job) => [aPod(job), pending] });
    expect(decide(observed, NOW).requeueAfterMs).toBe(240_000);
    const { status } = decide(observed, new Date('2026-01-01T00:24:00Z'));
    expect(status.attempts?.at(-1)).toMatchObject({ reason: 'NotScheduled', charged: false });
  });
});

describe('what follows a failure', () => {
  const ended = (overrides: Partial<Attempt> = {}): Attempt =>
    anAttempt({
      stage: 'Ended',
      outcome: 'Failed',
      reason: 'EngineFailed',
      charged: true,
      answer: 'Restart',
      ...overrides,
    });
  const failing = (job: TrainingJob): readonly ObservedPod[] => [aPod(job, { phase: 'Failed', exit: anExit() })];

  it.each([
    { charged: 0, wantDelayMs: 5_000 },
    { charged: 1, wantDelayMs: 10_000 },
    { charged: 2, wantDelayMs: 20_000 },
    { charged: 9, wantDelayMs: 300_000 },
  ])('after $charged charged restarts the next waits $wantDelayMs ms', ({ charged, wantDelayMs }) => {
    const restarts = { total: charged, charged };
    const spec = { spec: { restartPolicy: { maxRestarts: 20 } } };
    const { status } = decide(aRunningJob({ status: { restarts }, spec, pods: failing }), NOW);
    expect(Date.parse(status.notBefore ?? '') - NOW.getTime()).toBe(wantDelayMs);
    expect(status.restarts).toEqual({ total: charged + 1, charged: charged + 1 });
  });

  describe('when the cluster refuses a pod of the gang', () => {
    const name = 'tiny-gpt-3f1c2b9e-e1-1';
    const words = 'pods "x" is forbidden: exceeded quota: small';
    const refusedPods = new Map([[name, words]]);
    const creating = (status: Partial<TrainingJobStatus> = {}): Observed => {
      const job = aJob({ status: aStatus({ attempts: [anAttempt({ stage: 'Creating' })], ...status }) });
      return observe({
        job,
        placements: [aPlacement(job)],
        pods: [aPod(job, { gated: true, phase: 'Pending' })],
        refusedPods,
      });
    };

    it('removes those already made, charges nothing and says so in its words', () => {
      const { status, actions } = settled(creating());
      expect(status.attempts?.at(-1)).toMatchObject({ stage: 'Stopping', reason: 'PodsRefused', charged: false });
      expect(status.restarts.charged).toBe(0);
      expect(status.summary).toContain(words);
      expect(actions).toMatchObject([
        { kind: 'refuseLaunchers' },
        { kind: 'deletePods', pods: [{ name: 'tiny-gpt-3f1c2b9e-e1-0' }] },
      ]);
    });

    it('waits with the words in summary and condition, and is no restart of something that ran', () => {
      const refused = ended({
        reason: 'PodsRefused',
        charged: false,
        message: `The cluster refuses pod ${name}: ${words}`,
      });
      const job = aJob({ status: aStatus({ attempts: [refused], notBefore: '2026-01-01T00:20:04Z' }) });
      const { status } = settled(observe({ job, placements: [aPlacement(job)] }));
      expect(status).toMatchObject({ state: 'Queued', summary: expect.stringContaining(words) as string });
      expect(summaryOfCondition(status, 'Placed')).toBe('False/PodsRefused');
      expect(findCondition(status.conditions, 'Placed')?.message).toContain(words);
    });

    it.each([
      { times: 0, wantDelayMs: 1_000 },
      { times: 3, wantDelayMs: 8_000 },
      { times: 19, wantDelayMs: 300_000 },
    ])(
      'for the time after $times others it tries again after $wantDelayMs ms, for ever and free of charge',
      ({ times, wantDelayMs }) => {
        const earlier = Array.from({ length: times }, (_, index) =>
          ended({ epoch: index + 1, reason: 'PodsRefused', charged: false }),
        );
        const epoch = times + 1;
        const spec = { restartPolicy: { maxRestarts: 0, delaySeconds: 0 } };
        const job = aJob({
          spec,
          status: aStatus({ epoch, attempts: [...earlier, anAttempt({ epoch, stage: 'Creating' })] }),
        });
        const again = new Map([[`tiny-gpt-3f1c2b9e-e${epoch}-0`, words]]);
        const { status } = decide(observe({ job, placements: [aPlacement(job, { epoch })], refusedPods: again }), NOW);
        expect(status.attempts?.at(-1)).toMatchObject({ reason: 'PodsRefused', charged: false, answer: 'Restart' });
        expect(Date.parse(status.notBefore ?? '') - NOW.getTime()).toBe(wantDelayMs);
      },
    );
  });

  it('is counted once, however often it is looked at', () => {
    expect(settled(aRunningJob({ pods: failing })).status.restarts).toEqual({ total: 1, charged: 1 });
  });

  it('is the end once the budget is spent, with the whole reason', () => {
    const names = new Set(['tiny-gpt-3f1c2b9e-e1-1']);
    const restarts = { total: 3, charged: 3 };
    const { status } = settled(
      aRunningJob({ status: { restarts }, pods: failing, observed: { confirmedMissing: names } }),
    );
    expect(status).toMatchObject({ state: 'Failed', restarts });
    expect(summaryOfCondition(status, 'Failed')).toBe('True/RestartsExhausted');
    expect(findCondition(status.conditions, 'Failed')?.message).toContain('Rank 1 on node node-a exited with code 1');
    expect(findCondition(status.conditions, 'Failed')?.message).toContain('ValueError: planted');
  });

  it('waits for the delay, and says when to look again', () => {
    const job = aJob({ status: aStatus({ attempts: [ended()], notBefore: '2026-01-01T00:20:04Z' }) });
    const decision = settled(observe({ job, placements: [aPlacement(job)] }));
    expect(summaryOfCondition(decision.status, 'Placed')).toBe('False/WaitingForRestartDelay');
    expect(decision).toMatchObject({ actions: [], requeueAfterMs: 4_000, status: { state: 'Restarting' } });
  });

  it('goes on after a suspend at the layout that the spec asks for now, without any delay', () => {
    const suspended = anAttempt({ stage: 'Ended', outcome: 'Suspended', reason: 'SuspendRequested', charged: false });
    const job = aJob({
      spec: { layout: { pipelineParallelDegree: 2, dataParallelDegree: 2 } },
      status: aStatus({ attempts: [suspended] }),
    });
    const { actions } = settled(observe({ job, placements: [aPlacement(aJob())], checkpoints: [aCheckpoint(job)] }));
    expect(actions).toMatchObject([
      {
        kind: 'createPlacement',
        spec: {
          epoch: 2,
          layout: { tensorParallelDegree: 1, pipelineParallelDegree: 2, dataParallelDegree: 2 },
          resume: { step: 20 },
        },
      },
    ]);
  });

  it('resumes the next epoch from the newest complete checkpoint', () => {
    const job = aJob({ status: aStatus({ attempts: [ended()] }) });
    const checkpoints = [
      aCheckpoint(job),
      aCheckpoint(job, { spec: { step: 40 } }),
      aCheckpoint(job, { spec: { step: 60 }, status: { state: 'Damaged' } }),
    ];
    const { actions } = settled(observe({ job, placements: [aPlacement(job)], checkpoints }));
    expect(actions).toMatchObject([
      { kind: 'createPlacement', name: 'tiny-gpt-3f1c2b9e-e2', spec: { epoch: 2, resume: { step: 40 } } },
    ]);
  });

  it('marks a checkpoint that could not be loaded and falls back to the one before', () => {
    const job = aJob();
    const bad = aCheckpoint(job, { spec: { step: 40 } });
    const attempt = ended({
      reason: 'CheckpointUnreadable',
      charged: false,
      resumedFrom: { checkpoint: bad.metadata.name, step: 40 },
    });
    const { actions } = settled(
      observe({
        job: { ...job, status: aStatus({ attempts: [attempt] }) },
        placements: [aPlacement(job)],
        checkpoints: [aCheckpoint(job), bad],
      }),
    );
    expect(actions).toMatchObject([
      { kind: 'markCheckpointDamaged', name: bad.metadata.name },
      { kind: 'createPlacement', spec: { resume: { step: 20 } } },
    ]);
  });

  it('charges a free failure after ten in a row that led nowhere', () => {
    const attempts = Array.from({ length: 10 }, (_, index) =>
      ended({ epoch: index + 1, reason: 'RendezvousPortLost', charged: false }),
    );
    const job = aJob({ status: aStatus({ attempts: [...attempts, anAttempt({ epoch: 11 })] }) });
    const pods = [aPod(job, { epoch: 11, phase: 'Failed', exit: { exitCode: 71, reason: 'Error' } })];
    const { status } = decide(observe({ job, pods, placements: [aPlacement(job, { epoch: 11 })] }), NOW);
    expect(status.restarts).toEqual({ total: 1, charged: 1 });
  });

  it('keeps the last 20 attempts', () => {
    const attempts = Array.from({ length: 20 }, (_, index) => ended({ epoch: index + 1 }));
    const job = aJob({ status: aStatus({ attempts }) });
    const { status } = decide(observe({ job, placements: [aPlacement(job, { epoch: 21 })] }), NOW);
    expect(status.attempts?.map(({ epoch }) => epoch)).toEqual(Array.from({ length: 20 }, (_, index) => index + 2));
  });
});

describe('what a job says of itself', () => {
  const waiting = aCapacity([aNode(), aNode({ name: 'node-b' })], { 'node-a': 1 });
  const cases: readonly {
    readonly name: string;
    readonly seen: Observed;
    readonly want: string;
    readonly placed: string;
  }[] = [
    { name: 'a job that can be placed', seen: observe(), want: 'Queued', placed: 'False/Placing' },
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

  it('that waits for room is looked at again', () => {
    expect(settled(observe({ capacity: () => waiting }))).toMatchObject({ actions: [], requeueAfterMs: 30_000 });
  });

  it('refuses a layout that does not divide the model, and places nothing', () => {
    const { status, actions } = settled(observe({ job: aJob({ spec: { layout: { tensorParallelDegree: 3 } } }) }));
    expect(summaryOfCondition(status, 'Accepted')).toBe('False/LayoutInvalid');
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
    expect(new Set(messages)).toEqual(new Set(['Image no/such:image cannot be had on node node-a.']));
  });

  it('moves a transition time only with its status', () => {
    const first = decide(observe(), NOW).status;
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

  it('never lets its checkpoint fall back', () => {
    const checkpoint = { name: 'tiny-gpt-3f1c2b9e-e1-s80', step: 80 };
    const job = aJob({ status: aStatus({ attempts: [], checkpoint }) });
    expect(decide(observe({ job, checkpoints: [aCheckpoint(job)] }), NOW).status.checkpoint).toEqual(checkpoint);
  });
});

describe('an earlier gang', () => {
  const stopping = (deletionTimestamp: string): Observed =>
    aRunningJob({
      status: {
        attempts: [
          anAttempt({ stage: 'Stopping', outcome: 'Failed', reason: 'NodeLost', charged: false, answer: 'Restart' }),
        ],
      },
      pods: (job) => [aPod(job, { deletionTimestamp })],
      observed: {
        nodeStates: new Map([['node-a', 'notReady']]),
        confirmedMissing: new Set(['tiny-gpt-3f1c2b9e-e1-1']),
      },
    });

  it('is waited for while its node may still run it', () => {
    const decision = settled(stopping('2026-01-01T00:19:50Z'));
    expect(decision.status.attempts?.at(-1)?.stage).toBe('Stopping');
    expect(decision.requeueAfterMs).toBe(20_000);
  });

  it('counts as fenced 30 s after its deletion was due on a node that does not answer', () => {
    expect(settled(stopping('2026-01-01T00:19:30Z')).status.attempts?.at(-1)?.stage).toBe('Ended');
  });

  it('that was given up does not hold up the next one', () => {
    const job = aJob({ status: aStatus({ attempts: [anAttempt({ epoch: 2, stage: 'Creating' })] }) });
    const givenUp = aPod(job, { epoch: 1, deletionTimestamp: EARLIER });
    const seen = { job, pods: [givenUp], placements: [aPlacement(job, { epoch: 2, nodes: ['node-b', 'node-c'] })] };
    const decision = settled(observe({ ...seen, nodeStates: new Map([['node-a', 'gone']]) }));
    expect(kinds(decision.actions)).toEqual(['createPod', 'createPod']);
  });

  it('of a lost status is not forgotten: the newest Placement tells how far the job had come', () => {
    const job = aJob();
    const placements = [1, 2, 3].map((epoch) => aPlacement(job, { epoch }));
    expect(decide(observe({ job, placements }), NOW).status).toMatchObject({ epoch: 3, attempts: [{ epoch: 3 }] });
  });

  it('suspended before its first pod uses up its epoch, so that another layout gets a new one', () => {
    const job = aJob({ spec: { suspend: true } });
    const names = [0, 1].map((podIndex) => podName(job.metadata, { epoch: 1, podIndex }));
    const { status, actions } = settled(
      observe({ job, placements: [aPlacement(job)], confirmedMissing: new Set(names) }),
    );
    expect(status).toMatchObject({
      epoch: 1,
      state: 'Suspended',
      attempts: [{ stage: 'Ended', outcome: 'Suspended' }],
    });
    expect(actions).toEqual([]);
  });
});

describe('nonsense in a resource', () => {
  const poison: readonly unknown[] = [
    null,
    7,
    'x',
    [],
    {},
    { epoch: 'two' },
    { attempts: [null, { epoch: -1 }], conditions: 'none' },
    { notBefore: 'never', restarts: { total: 1e99 } },
    { ['__proto__']: { epoch: 3 } },
  ];
  it.each(poison)('status %j counts as absent', (status) => {
    const job = { ...aJob(), status: status as TrainingJobStatus };
    expect(kinds(settled(observe({ job })).actions)).toEqual(['createPlacement']);
  });

  it.each(poison)('spec %j is refused in a sentence and nothing is done', (spec) => {
    const job = { ...aJob(), spec: spec as TrainingJob['spec'] };
    const { status, actions } = settled(observe({ job }));
    expect(summaryOfCondition(status, 'Accepted')).toBe('False/SpecInvalid');
    expect(actions).toEqual([]);
  });

  it.each(poison)('placements and checkpoints with spec %j are passed over', (spec) => {
    const job = aJob();
    const placement = { ...aPlacement(job), spec: spec as ReturnType<typeof aPlacement>['spec'] };
    const checkpoint = { ...aCheckpoint(job), spec: spec as ReturnType<typeof aCheckpoint>['spec'] };
    const { actions } = settled(observe({ job, placements: [placement], checkpoints: [checkpoint] }));
    expect(kinds(actions)).toEqual(['createPlacement']);
  });

  it('a spec that became unreadable does not stop a gang that runs', () => {
    const observed = aRunningJob({});
    const job = { ...observed.job, spec: {} as TrainingJob['spec'] };
    expect(settled({ ...observed, job }).actions).toEqual([]);
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
    status: { attempts: [anAttempt({ stage: 'Ended', outcome: 'Failed', answer: 'Restart', charged: true })] },
    pods: (one) => [aPod(one, { phase: 'Failed', exit: anExit({}, { unreportedCheckpoints: [saved] }) })],
    observed,
  });
}

function withoutState({ status: _, ...checkpoint }: Checkpoint): Checkpoint {
  return checkpoint;
}
