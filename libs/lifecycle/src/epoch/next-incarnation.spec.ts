import type { Attempt, TerminationCause, TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import { decide } from '../decide/decide.ts';
import type { Observed, ObservedPod } from '../observation/observed.ts';
import type { ObservedLauncher } from '../observation/observed-launcher.ts';
import { aCheckpoint, anExit, aPod } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, kinds, NOW, settled, summaryOfCondition } from '../testing/jobs.ts';

const RAN = '2026-01-01T00:11:00Z';
const job = aJob();
const [first, second] = [aPod(job), aPod(job, { podIndex: 1 })];

const aCause = (about: Partial<TerminationCause> = {}): TerminationCause => ({
  version: 1,
  kind: 'engineFailed',
  epoch: 1,
  incarnation: 1,
  node: 'node-a',
  rank: 1,
  exitCode: 1,
  message: '',
  lastLines: ['ValueError: planted'],
  lastStep: 45,
  unreportedCheckpoints: [],
  ...about,
});
const running = (incarnation = 1): ObservedLauncher => ({ epoch: 1, incarnation, state: 'running' });
const reaped = (incarnation = 1, cause?: TerminationCause): ObservedLauncher => ({
  epoch: 1,
  incarnation,
  state: 'reaped',
  ...(cause === undefined ? {} : { cause }),
});
const reports = (ofFirst: ObservedLauncher, ofSecond?: ObservedLauncher): ReadonlyMap<string, ObservedLauncher> =>
  new Map([[first.uid, ofFirst], ...(ofSecond === undefined ? [] : [[second.uid, ofSecond] as const])]);

const saved = (of: TrainingJob) => [aCheckpoint(of), aCheckpoint(of, { spec: { step: 40 } })];
const RESUMED = { checkpoint: 'tiny-gpt-3f1c2b9e-e1-s20', step: 20 };
/** Incarnation 2, recorded and not started yet, of which the first failed at step 45. */
const ENDED_FIRST = {
  incarnation: 1,
  runningAt: RAN,
  endedAt: '2026-01-01T00:19:50Z',
  reason: 'EngineFailed',
  message: 'Rank 1 on node node-a exited with code 1.',
  charged: true,
  lastStep: 45,
} as const;
const again = (more: Partial<Attempt> = {}): Partial<TrainingJobStatus> => ({
  restarts: { total: 1, charged: 1 },
  attempts: [anAttempt({ incarnation: 2, incarnations: [ENDED_FIRST], resumedFrom: RESUMED, ...more })],
});

/** A gang of two pods that ran, whose first launcher said that a rank of it failed, while the second one runs. */
function failed(
  about: {
    readonly cause?: Partial<TerminationCause>;
    readonly status?: Partial<TrainingJobStatus>;
    readonly spec?: Parameters<typeof aRunningJob>[0]['spec'];
    readonly pods?: readonly ObservedPod[];
    readonly observed?: Partial<Observed>;
  } = {},
): Observed {
  const { cause, status = { attempts: [anAttempt({ runningAt: RAN })] }, spec = {}, pods = [first, second] } = about;
  const incarnation = status.attempts?.at(-1)?.incarnation ?? 1;
  const launchers = reports(reaped(incarnation, aCause({ incarnation, ...cause })), running(incarnation));
  const observed = aRunningJob({ status, spec, pods: () => pods });
  return { ...observed, checkpoints: saved(observed.job), launchers, ...about.observed };
}

const lastOf = (status: TrainingJobStatus): Attempt | undefined => status.attempts?.at(-1);

describe('a rank that fails while every pod of its gang lives', () => {
  it('begins an incarnation in the same pods: failure, fence, restart and checkpoint in one write', () => {
    const decision = decide(failed(), NOW);
    expect(decision.status).toMatchObject({
      epoch: 1,
      restarts: { total: 1, charged: 1 },
      notBefore: '2026-01-01T00:20:05.000Z',
      checkpoint: { name: 'tiny-gpt-3f1c2b9e-e1-s40', step: 40 },
    });
    const attempt = lastOf(decision.status);
    expect(attempt).toMatchObject({
      stage: 'Released',
      incarnation: 2,
      resumedFrom: { checkpoint: 'tiny-gpt-3f1c2b9e-e1-s40', step: 40, path: expect.any(String) as string },
      incarnations: [{ incarnation: 1, runningAt: RAN, reason: 'EngineFailed', charged: true, lastStep: 45 }],
    });
    expect(attempt?.incarnations?.[0]?.message).toContain('Rank 1 on node node-a exited with code 1');
    expect([attempt?.outcome, attempt?.runningAt, attempt?.incarnations?.[0]?.resumedFrom]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('keeps with what ended when its run was restored and took its steps, and begins them anew', () => {
    const saves = [{ step: 40, ms: 9 }];
    const marks = { restoredAt: RAN, firstStep: { step: 21, at: RAN }, clock: { metAt: RAN, saves } };
    const status = {
      attempts: [anAttempt({ runningAt: RAN, resumedFrom: RESUMED, ...marks })],
      progress: { step: 45, reportedAt: RAN },
    };
    const attempt = lastOf(decide(failed({ status }), NOW).status);
    expect(attempt?.incarnations?.[0]).toMatchObject({ ...marks, lastStepAt: RAN });
    expect(Object.keys(attempt ?? {}).filter((field) => field in marks)).toEqual([]);
  });

  it('keeps judgement, last lines and saves of the newest failed incarnation only', () => {
    const judgement = { rule: 'default', action: 'Restart', class: 'PythonException', blame: 'program' } as const;
    const ended = { ...ENDED_FIRST, lastStep: 20, judgement: { ...judgement, says: 'Earlier.' }, lastLines: ['early'] };
    const clock = { metAt: RAN, saves: [{ step: 20, ms: 9 }] };
    const attempt = lastOf(
      decide(failed({ status: again({ runningAt: RAN, incarnations: [{ ...ended, clock }] }) }), NOW).status,
    );
    expect(attempt?.incarnations).toEqual([
      { ...ENDED_FIRST, lastStep: 20, judgement, clock: { metAt: RAN } },
      expect.objectContaining({
        incarnation: 2,
        judgement: expect.objectContaining({ says: expect.stringContaining('rule default') as string }) as object,
        origin: { rank: 1, pod: 'tiny-gpt-3f1c2b9e-e1-0', node: 'node-a', exitCode: 1 },
        lastLines: ['ValueError: planted'],
      }),
    ]);
  });

  it('deletes nothing, and says what happens', () => {
    const { status, actions } = settled(failed());
    expect(kinds(actions)).toEqual([]);
    expect(status.state).toBe('Restarting');
    expect(summaryOfCondition(status, 'Running')).toBe('False/RestartingInPlace');
    expect(status.summary).toBe(
      'The ranks of attempt 1 restart in their pods (incarnation 2), from step 40. Before: Rank 1 on node node-a exited with code 1.',
    );
  });

  it('tells of failure and restart once, in events of their own', () => {
    const { events } = decide(failed(), NOW);
    expect(events.map(({ key, message }) => [key, message])).toEqual([
      ['e1i1/RankFailed', expect.stringContaining('EngineFailed: Rank 1 on node node-a') as string],
      ['e1i1/Restarting', expect.stringContaining('(incarnation 2), from step 40') as string],
    ]);
  });

  it('is told once and counted once, however often its launcher says it again', () => {
    const { status } = settled(failed());
    expect(status.restarts).toEqual({ total: 1, charged: 1 });
    expect(lastOf(status)?.incarnation).toBe(2);
  });

  it('waits for live reads of checkpoints and gang, in this order', () => {
    const seen = { ...failed(), isProven: false, areCheckpointsProven: false };
    expect(kinds(decide(seen, NOW).actions)).toEqual(['readCheckpoints']);
    const asked = decide({ ...seen, areCheckpointsProven: true }, NOW);
    expect(kinds(asked.actions)).toEqual(['readLive']);
    expect(lastOf(asked.status)?.incarnation).toBeUndefined();
  });

  it('first records what its launcher has saved and nobody heard of, and begins from there', () => {
    const { step, format, bytes, files, manifestSha256 } = aCheckpoint(job, { spec: { step: 44 } }).spec;
    const save = { step, format, bytes, files, manifestSha256, directory: 'step-44' };
    const seen = failed({ cause: { unreportedCheckpoints: [save] } });
    const decision = decide(seen, NOW);
    expect(lastOf(decision.status)?.incarnation).toBeUndefined();
    expect(settled(seen).actions).toMatchObject([{ kind: 'createCheckpoint', name: 'tiny-gpt-3f1c2b9e-e1-s44' }]);
    const made = aCheckpoint(seen.job, { spec: { step: 44 } });
    expect(lastOf(decide({ ...seen, checkpoints: [made] }, NOW).status)).toMatchObject({
      incarnation: 2,
      resumedFrom: { step: 44 },
    });
  });

  it('is the same in a gang of one pod', () => {
    const one = failed({ pods: [first] });
    const placements = one.placements.map((placement) => ({
      ...placement,
      spec: { ...placement.spec, nodes: ['node-a'], worldSize: 2 },
    }));
    const { status } = settled({ ...one, placements, launchers: reports(reaped(1, aCause())) });
    expect(lastOf(status)?.incarnation).toBe(2);
  });

  it('is not charged where another process took the rendezvous port', () => {
    const { status } = settled(failed({ cause: { kind: 'rendezvousPortLost', exitCode: 71 } }));
    expect(status.restarts).toEqual({ total: 1, charged: 0 });
    expect(lastOf(status)?.incarnations?.[0]).toMatchObject({ reason: 'RendezvousPortLost', charged: false });
  });

  it.each([
    [1, '2026-01-01T00:20:10.000Z', undefined],
    [3, '2026-01-01T00:20:40.000Z', undefined],
    [8, '2026-01-01T00:20:05.000Z', 'Failed'],
  ])(
    'waits longer after %i such restarts in a row, however far each came, and has new pods after 8',
    (free, due, outcome) => {
      const incarnations = Array.from({ length: free }, (_, index) => ({
        ...ENDED_FIRST,
        incarnation: index + 1,
        lastStep: index,
        charged: false,
      }));
      const status = again({ incarnation: free + 1, incarnations, runningAt: RAN });
      const decided = decide(failed({ status, cause: { kind: 'rendezvousPortLost', exitCode: 71 } }), NOW).status;
      expect(decided.notBefore).toBe(due);
      expect(lastOf(decided)?.outcome).toBe(outcome);
    },
  );

  it('forgets the progress of what failed, so that a lower step is news', () => {
    const before = { step: 45, reportedAt: '2026-01-01T00:19:59Z' };
    const progress = { epoch: 1, step: 45 };
    const status = { attempts: [anAttempt({ runningAt: RAN })], progress: before };
    const begun = settled(failed({ status, observed: { progress } })).status;
    expect(begun.progress).toBeUndefined();
    const next = aRunningJob({ status: { ...again({ runningAt: RAN }) } });
    const lower = { epoch: 1, incarnation: 2, step: 41 };
    expect(
      decide({ ...next, launchers: reports(running(2), running(2)), progress: lower }, NOW).status.progress?.step,
    ).toBe(41);
    expect(
      decide({ ...next, launchers: reports(running(2), running(2)), progress }, NOW).status.progress,
    ).toBeUndefined();
  });
});

describe('a failure that new pods answer, as ever', () => {
  const epochs: readonly [string, Parameters<typeof failed>[0]][] = [
    ['where the policy asks for it', { spec: { spec: { restartPolicy: { inPlace: 'Never' } } } }],
    ['where the budget is spent', { status: { attempts: [anAttempt()], restarts: { total: 3, charged: 3 } } }],
    ['where nothing was saved', { observed: { checkpoints: [] } }],
    [
      'where no checkpoint can be used',
      { observed: { checkpoints: [aCheckpoint(job, { status: { state: 'Damaged' } })] } },
    ],
    ['where a person asks for another checkpoint', { spec: { spec: { resumeFrom: { from: RESUMED.checkpoint } } } }],
    ['where a person asks for scratch', { spec: { spec: { resumeFrom: { from: 'scratch' } } } }],
    ['the second time without progress', { status: again({ runningAt: RAN }), cause: { lastStep: 45 } }],
    ['the second time before a first step', { status: again({ runningAt: RAN }), cause: { lastStep: undefined } }],
    ['where the job is suspended meanwhile', { spec: { spec: { suspend: true } } }],
    ['where the job is cancelled meanwhile', { spec: { spec: { cancel: true } } }],
    ['where another pod is being deleted', { pods: [first, { ...second, deletionTimestamp: NOW.toISOString() }] }],
    ['where another pod is being evicted', { pods: [first, { ...second, disruption: 'EvictionByEvictionAPI' }] }],
    ['where another pod has ended', { pods: [first, { ...second, phase: 'Failed', running: false, exit: anExit() }] }],
    ['where another pod has finished', { pods: [first, { ...second, phase: 'Succeeded', running: false }] }],
    ['where another pod is gone', { pods: [first] }],
    ['where another pod has not started', { pods: [first, { ...second, phase: 'Pending', running: false }] }],
    ['where a node does not answer', { observed: { nodeStates: new Map([['node-b', 'notReady']]) } }],
    ['where a node is gone', { observed: { nodeStates: new Map([['node-b', 'gone']]) } }],
    [
      'where the checkpoint cannot be loaded',
      { cause: { kind: 'checkpointIoError' }, status: { attempts: [anAttempt({ resumedFrom: RESUMED })] } },
    ],
    ['where the engine says that a restart would not help', { cause: { kind: 'doNotRestart', exitCode: 93 } }],
    [
      'where a detector has named a node',
      { observed: { verdicts: [{ epoch: 1, about: { kind: 'node', node: 'node-b' }, message: 'Slow.' }] } },
    ],
  ];
  it.each(epochs)('%s', (_sentence, about) => {
    const { status } = settled(failed(about));
    expect(lastOf(status)).toMatchObject({ outcome: 'Failed' });
    expect(lastOf(status)?.incarnations?.length ?? 0).toBe(about?.status?.attempts?.[0]?.incarnations?.length ?? 0);
  });

  it('where the launchers are further than status tells since an operator of the release before wrote it', () => {
    const seen = failed({ status: { attempts: [anAttempt({ runningAt: RAN })] } });
    const { status } = settled({ ...seen, launchers: reports(reaped(2, aCause({ incarnation: 2 })), running(2)) });
    expect(lastOf(status)).toMatchObject({ outcome: 'Failed', reason: 'EngineFailed', charged: true });
    const ofFirst = settled({ ...seen, launchers: reports(reaped(1, aCause()), running(2)) }).status;
    expect(lastOf(ofFirst)).toMatchObject({ outcome: 'Failed', reason: 'EngineFailed', charged: true });
  });

  it('goes on in the same pods the second time after progress', () => {
    const { status } = settled(failed({ status: again({ runningAt: RAN }), cause: { lastStep: 46 } }));
    expect(status.restarts).toEqual({ total: 2, charged: 2 });
    expect(lastOf(status)).toMatchObject({
      incarnation: 3,
      incarnations: [{ incarnation: 1 }, { incarnation: 2, lastStep: 46 }],
    });
  });
});

describe('a launcher that says that its ranks are gone', () => {
  const paused = (launchers: ReadonlyMap<string, ObservedLauncher>, more: Partial<Observed> = {}): Observed => {
    const observed = aRunningJob({ status: again() });
    return { ...observed, checkpoints: saved(observed.job), launchers, ...more };
  };

  it.each<[string, ObservedLauncher]>([
    ['of an incarnation that was answered', reaped(1, aCause())],
    ['by order, without a cause', reaped(2)],
    ['of another epoch', { ...reaped(2, aCause({ incarnation: 2 })), epoch: 3 }],
    ['with the cause of an earlier incarnation', reaped(2, aCause({ incarnation: 1 }))],
  ])('%s, tells of no failure', (_sentence, launcher) => {
    const { status } = settled(paused(reports(launcher, running(2))));
    expect(lastOf(status)).toMatchObject({ incarnation: 2, stage: 'Released' });
    expect(status.restarts).toEqual({ total: 1, charged: 1 });
  });

  it('is waited for, and the pause as well, each with a deadline', () => {
    const { timed } = settled(paused(reports(reaped(1, aCause()), running(1))));
    expect(timed).toEqual(expect.arrayContaining(['e1i2/reaping', 'e1i2/delay']));
    expect(settled(paused(reports(reaped(1, aCause()), reaped(1)))).timed).toEqual(
      expect.arrayContaining(['e1i2/starting', 'e1i2/delay']),
    );
  });

  it('fails the epoch when it does not within the time, free of charge, and its node is avoided', () => {
    const elapsedMs = new Map([['e1i2/reaping', 60_000]]);
    const { status } = settled(paused(reports(reaped(1, aCause()), running(1)), { elapsedMs }));
    expect(lastOf(status)).toMatchObject({ outcome: 'Failed', reason: 'NotReaped', charged: false, answer: 'Restart' });
    expect(lastOf(status)?.message).toMatch(
      /pod .*-e1-1 on node node-b did not report within 60 s that its ranks have ended/,
    );
    expect(status.avoidedNodes).toMatchObject([{ node: 'node-b', reason: 'NotReaped' }]);
    expect(status.restarts).toEqual({ total: 2, charged: 1 });
  });

  it('is given as long as the administrator says', () => {
    const elapsedMs = new Map([['e1i2/reaping', 5_000]]);
    const seen = paused(reports(reaped(1, aCause()), running(1)), { elapsedMs, timeouts: { reapingMs: 5_000 } });
    expect(lastOf(settled(seen).status)?.reason).toBe('NotReaped');
  });

  it('need not say it again to a leader that remembers nothing: it is waited for, and nothing fails', () => {
    const { status, timed } = settled(paused(new Map()));
    expect(lastOf(status)?.stage).toBe('Released');
    expect(timed).toContain('e1i2/reaping');
  });

  it('and then runs the next one: that is recorded when all do', () => {
    expect(lastOf(settled(paused(reports(running(2), reaped(1)))).status)?.runningAt).toBeUndefined();
    const { status, timed } = settled(paused(reports(running(2), running(2))));
    expect(lastOf(status)?.runningAt).toBe(NOW.toISOString());
    expect(status).toMatchObject({
      state: 'Running',
      summary: 'Runs in attempt 1 (incarnation 2) on 4 GPUs of 2 nodes, tp2 x dp2; no step was reported yet.',
    });
    expect(timed).toEqual([]);
  });

  it('may fail again while the others start, which begins no third incarnation without a step', () => {
    const { status } = settled(paused(reports(reaped(2, aCause({ incarnation: 2, lastStep: undefined })), running(2))));
    expect(lastOf(status)).toMatchObject({ outcome: 'Failed', reason: 'EngineFailed', charged: true, incarnation: 2 });
  });
});

describe('a pod that ends while its ranks are to be started again', () => {
  const ending = (exit: ReturnType<typeof anExit>, more: Partial<Attempt> = {}): TrainingJobStatus => {
    const observed = aRunningJob({
      status: again(more),
      pods: () => [{ ...first, phase: 'Failed', running: false, exit }, second],
    });
    return settled({
      ...observed,
      checkpoints: saved(observed.job),
      launchers: reports(reaped(1, aCause()), reaped(1)),
    }).status;
  };

  it('with the cause that it has told before: the epoch fails, and the failure is not charged again', () => {
    const status = ending(anExit({}, { incarnation: 1 }));
    expect(lastOf(status)).toMatchObject({ outcome: 'Failed', reason: 'NotReaped', charged: false });
    expect(status.restarts).toEqual({ total: 2, charged: 1 });
  });

  it.each<[string, Parameters<typeof anExit>[1], Attempt['reason']]>([
    ['a failure of the newest incarnation is a failure', { incarnation: 2 }, 'EngineFailed'],
    [
      'an engine that wants no restart gets none',
      { incarnation: 1, kind: 'doNotRestart', exitCode: 93 },
      'DoNotRestart',
    ],
  ])('%s', (_sentence, cause, want) => {
    expect(lastOf(ending(anExit({}, cause)))).toMatchObject({ outcome: 'Failed', reason: want, charged: true });
  });

  it('says nothing against a checkpoint that another incarnation began from', () => {
    const checkpointFault = { kind: 'ContentDiffers', path: '/c/a' } as const;
    const status = ending(anExit({}, { incarnation: 1, kind: 'checkpointUnreadable', checkpointFault }));
    expect(lastOf(status)).toMatchObject({ reason: 'NotReaped' });
    expect(lastOf(status)?.checkpointFaults).toBeUndefined();
  });

  it('condemns the checkpoint that the earlier incarnation began from, where the newest does too', () => {
    const checkpointFault = { kind: 'ContentDiffers', path: '/c/a' } as const;
    const exit = anExit({}, { incarnation: 1, kind: 'checkpointUnreadable', checkpointFault });
    const status = ending(exit, { incarnations: [{ ...ENDED_FIRST, resumedFrom: RESUMED }] });
    expect(lastOf(status)).toMatchObject({ reason: 'CheckpointUnreadable', charged: false });
    expect(lastOf(status)?.checkpointFaults).toHaveLength(1);
  });
});

describe('a gang that is suspended while its ranks are to be started again', () => {
  it('stops, and nothing of it is started', () => {
    const observed = aRunningJob({ status: again(), spec: { spec: { suspend: true } } });
    const { status, actions } = settled({ ...observed, launchers: reports(reaped(1, aCause()), running(1)) });
    expect(lastOf(status)).toMatchObject({ stage: 'Stopping', outcome: 'Suspended', charged: false });
    expect(kinds(actions)).toEqual(['deletePods']);
  });
});
