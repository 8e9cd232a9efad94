import type { GoodputCategory } from '@coxswain/api-types';
import type { AttemptHistory, HeldBeyondEnd, JobHistory, RunHistory } from './history.ts';
import { gpuMsOf, gpuTimeOf } from './gpu-time.ts';
import { jobGoodput } from './job-goodput.ts';
import { ledgerOf } from './ledger.ts';

const S = 1_000;

/** Placed at 0 s, running at 10 s, from scratch; first step at 20 s, step 101 at 120 s, ended by a failure that was seen at 150 s. */
function aRun(overrides: Partial<RunHistory> = {}): RunHistory {
  return {
    incarnation: 1,
    runningMs: 10 * S,
    restoredMs: undefined,
    marks: {},
    firstStepMs: 20 * S,
    lastStepMs: 120 * S,
    firstStep: 1,
    lastStep: 101,
    resumedFromStep: 0,
    endedMs: 150 * S,
    end: 'failed',
    recovery: 'infrastructureRecovery',
    stepMs: undefined,
    hasSaved: false,
    slowMs: undefined,
    ...overrides,
  };
}

/** Held by 4 GPUs from 0 to 160 s. */
function anAttempt(runs: readonly RunHistory[], overrides: Partial<AttemptHistory> = {}): AttemptHistory {
  return {
    epoch: 1,
    gpus: 4,
    heldFromMs: 0,
    heldToMs: 160 * S,
    heldBeyond: [],
    standbys: [],
    wasSuspended: false,
    lacksRuns: false,
    saves: undefined,
    runs,
    ...overrides,
  };
}

function aJob(attempts: readonly AttemptHistory[], overrides: Partial<JobHistory> = {}): JobHistory {
  const asOfMs = overrides.asOfMs ?? 1_000 * S;
  return { createdMs: 0, asOfMs, observedMs: asOfMs, isFinished: true, saveStops: [], attempts, ...overrides };
}

/** Seconds of wall time of every run together, without the categories that have none. */
function secondsOf(history: JobHistory): Partial<Record<GoodputCategory, number>> {
  const seconds: Partial<Record<GoodputCategory, number>> = {};
  for (const { ms } of ledgerOf(history).runs)
    for (const [category, value] of Object.entries(ms) as [GoodputCategory, number][])
      if (value > 0) seconds[category] = (seconds[category] ?? 0) + value / S;
  return seconds;
}

/** A second attempt, placed at 200 s, that began from a step and is training still. */
const second = (run: Partial<RunHistory> = {}): AttemptHistory =>
  anAttempt(
    [
      aRun({
        runningMs: 230 * S,
        firstStepMs: 260 * S,
        lastStepMs: 300 * S,
        firstStep: 62,
        lastStep: 102,
        resumedFromStep: 61,
        endedMs: undefined,
        end: 'live',
        ...run,
      }),
    ],
    { epoch: 2, heldFromMs: 200 * S, heldToMs: undefined },
  );

describe('a ledger', () => {
  it.each<[string, JobHistory, Partial<Record<GoodputCategory, number>>]>([
    [
      'of a failed attempt: its start, its steps, and the time from the last step until the gang was gone',
      aJob([anAttempt([aRun()])]),
      { initialisation: 20, productive: 100, infrastructureRecovery: 40 },
    ],
    [
      'of one that was done, or was asked to stop: what follows the last step was planned',
      aJob([anAttempt([aRun({ end: 'stopped' })])]),
      { initialisation: 20, productive: 100, plannedStop: 40 },
    ],
    [
      'of one that took steps after the stop was asked for, while it saved',
      aJob([anAttempt([aRun({ end: 'stopped', endedMs: 90 * S })])]),
      { initialisation: 20, productive: 100, plannedStop: 40 },
    ],
    [
      'of one that made room: its steps after the newest save, and the time from the last step until the gang was gone',
      aJob([anAttempt([aRun({ end: 'madeRoom' })]), second({ lastStepMs: 260 * S, lastStep: 62 })], {
        asOfMs: 260 * S,
      }),
      { initialisation: 80, productive: 60, preemption: 80 },
    ],
    [
      'of one that lives: nobody knows yet what it does since its last step',
      aJob([anAttempt([aRun({ end: 'live', endedMs: undefined })], { heldToMs: undefined })], {
        asOfMs: 125 * S,
        isFinished: false,
      }),
      { initialisation: 20, productive: 100, other: 5 },
    ],
    [
      'of one that loaded a checkpoint',
      aJob([anAttempt([aRun({ restoredMs: 18 * S })])]),
      { initialisation: 12, checkpointRestore: 8, productive: 100, infrastructureRecovery: 40 },
    ],
    [
      'of one that never ran',
      aJob([anAttempt([aRun({ runningMs: undefined, firstStepMs: undefined, lastStepMs: undefined })])]),
      { initialisation: 150, infrastructureRecovery: 10 },
    ],
    [
      'of one that ran and hung before its first step',
      aJob([anAttempt([aRun({ firstStepMs: undefined, lastStepMs: undefined })])]),
      { initialisation: 150, infrastructureRecovery: 10 },
    ],
    [
      'of one whose end was never heard of: the next one began when it was gone',
      aJob([anAttempt([aRun({ end: 'unknown', endedMs: undefined })], { heldToMs: undefined }), second()], {
        asOfMs: 300 * S,
      }),
      { initialisation: 20 + 60, productive: 60 + 40, wastedProgress: 40, other: 80 },
    ],
    [
      'of steps that were trained again after a failure; the pods that take the place of others are recovery until their ranks start',
      aJob([anAttempt([aRun()]), second()], { asOfMs: 300 * S }),
      { initialisation: 20 + 30, productive: 60 + 40, wastedProgress: 40, infrastructureRecovery: 40 + 30 },
    ],
    [
      'of steps that were trained again, because a later run began from an older checkpoint still',
      aJob([anAttempt([aRun()]), second(), { ...second({ resumedFromStep: 11 }), epoch: 3, heldFromMs: 400 * S }], {
        asOfMs: 300 * S,
      }),
      { initialisation: 20 + 30, productive: 10, wastedProgress: 90 + 40, infrastructureRecovery: 40 + 30 },
    ],
    [
      'of ranks that were started again in their pods',
      aJob([
        anAttempt([
          aRun({ endedMs: 125 * S }),
          aRun({
            incarnation: 2,
            runningMs: 130 * S,
            firstStepMs: 135 * S,
            lastStepMs: 155 * S,
            firstStep: 82,
            lastStep: 102,
            resumedFromStep: 81,
            endedMs: 155 * S,
            end: 'stopped',
          }),
        ]),
      ]),
      {
        initialisation: 20 + 5,
        productive: 80 + 20,
        wastedProgress: 20,
        infrastructureRecovery: 5 + 5,
        plannedStop: 5,
      },
    ],
    [
      'of which the first runs are known no longer',
      aJob([anAttempt([aRun()], { lacksRuns: true })]),
      { other: 10, initialisation: 10, productive: 100, infrastructureRecovery: 40 },
    ],
    [
      'of a run that saved: what its steps did not take',
      aJob([anAttempt([aRun({ stepMs: 900, hasSaved: true })])]),
      { initialisation: 20, productive: 90, checkpointSave: 10, infrastructureRecovery: 40 },
    ],
    [
      'of a run that saved nothing: what its steps did not take',
      aJob([anAttempt([aRun({ stepMs: 900 })])]),
      { initialisation: 20, productive: 90, other: 10, infrastructureRecovery: 40 },
    ],
    [
      'of steps that claim to take longer than there was time',
      aJob([anAttempt([aRun({ stepMs: 1e12, hasSaved: true })])]),
      { initialisation: 20, productive: 100, infrastructureRecovery: 40 },
    ],
    [
      'of a straggler, whose cost is never more than the steps took',
      aJob([anAttempt([aRun({ slowMs: 30 * S })]), second({ slowMs: 1e15 })], { asOfMs: 300 * S }),
      { initialisation: 50, productive: 42, wastedProgress: 28, slow: 30 + 40, infrastructureRecovery: 70 },
    ],
  ])('%s', (_, history, expected) => {
    expect(secondsOf(history)).toEqual(expected);
  });

  it.each<[string, Partial<RunHistory>, Partial<Record<GoodputCategory, number>>]>([
    ['the program', { recovery: 'programRecovery' }, { programRecovery: 70 }],
    ['a node', { recovery: 'infrastructureRecovery' }, { infrastructureRecovery: 70 }],
    ['an unknown cause', { recovery: 'unexplainedRecovery' }, { unexplainedRecovery: 70 }],
  ])('names the recovery from a failure of %s, until the ranks that replace them start', (_, failure, expected) => {
    const history = aJob([anAttempt([aRun(failure)]), second()], { asOfMs: 300 * S });
    const { initialisation: _i, productive: _p, wastedProgress: _w, ...recovery } = secondsOf(history);
    expect(recovery).toEqual(expected);
  });

  it('names the recovery within an attempt by the failure of each incarnation', () => {
    const first = aRun({ recovery: 'programRecovery' });
    const again = aRun({
      incarnation: 2,
      runningMs: 155 * S,
      firstStepMs: undefined,
      lastStepMs: undefined,
      recovery: 'unexplainedRecovery',
    });
    const history = aJob([anAttempt([first, { ...again, endedMs: 158 * S }])]);
    expect(secondsOf(history)).toMatchObject({ programRecovery: 30 + 5, unexplainedRecovery: 2 });
  });

  it.each<[string, readonly HeldBeyondEnd[], number]>([
    ['are none', [], 0],
    ['count until they are free', [{ gpus: 2, fromMs: 160 * S, toMs: 200 * S }], 80],
    ['count until the observation', [{ gpus: 2, fromMs: 160 * S, toMs: undefined }], 2 * 140],
    [
      'shrink as nodes come back',
      [
        { gpus: 2, fromMs: 160 * S, toMs: 170 * S },
        { gpus: 1, fromMs: 170 * S, toMs: 180 * S },
      ],
      30,
    ],
  ])('GPUs of fenced pods %s', (_, heldBeyond, gpuSeconds) => {
    const history = aJob([anAttempt([aRun()], { heldBeyond }), second()], { asOfMs: 300 * S, isFinished: false });
    const share = jobGoodput(history, 0).shares.find(({ category }) => category === 'lostNode');
    expect(share?.gpuSeconds).toBe(gpuSeconds);
  });

  it('counts GPUs of fenced pods beyond the end of the job', () => {
    const heldBeyond = [{ gpus: 2, fromMs: 160 * S, toMs: undefined }];
    const history = aJob([anAttempt([aRun()], { heldBeyond })], { asOfMs: 160 * S, observedMs: 400 * S });
    expect(gpuMsOf(ledgerOf(history)).lostNode).toBe(2 * 240 * S);
    expect(gpuTimeOf(history)).toMatchObject({
      fromMs: 400 * S,
      toMs: Infinity,
      growth: { lostNode: 2, productive: 0 },
    });
  });

  it('shows the time without GPUs as wall time, told apart by why', () => {
    const history = aJob(
      [
        anAttempt([aRun({ end: 'stopped' })], { heldFromMs: 30 * S, wasSuspended: true }),
        { ...second({ end: 'failed' }), heldToMs: 310 * S },
      ],
      { asOfMs: 350 * S, isFinished: false },
    );
    expect(jobGoodput(history, 0)).toMatchObject({ heldSeconds: 240, waitingSeconds: 70, suspendedSeconds: 40 });
  });

  it('has spans that follow each other without a gap, and at most 400 of them', () => {
    // Every ninth of 900 attempts lives for 700 s, the others for 3 s, with as long between them.
    let atMs = 0;
    const many = Array.from({ length: 900 }, (_, index): AttemptHistory => {
      const lengthMs = (index % 9 === 0 ? 700 : 3) * S;
      const heldFromMs = atMs;
      atMs += 2 * lengthMs;
      const run = aRun({
        runningMs: heldFromMs + S,
        firstStepMs: undefined,
        lastStepMs: undefined,
        endedMs: undefined,
      });
      return anAttempt([run], { epoch: index + 1, heldFromMs, heldToMs: heldFromMs + lengthMs });
    });
    const { spans } = jobGoodput(aJob(many, { asOfMs: atMs, isFinished: false }), 0);
    expect(spans.length).toBeLessThanOrEqual(400);
    expect(spans.length).toBeGreaterThan(100);
    expect(spans.slice(1).map(({ from }) => from)).toEqual(spans.slice(0, -1).map(({ to }) => to));
    expect([spans[0]?.from, spans.at(-1)?.to]).toEqual([new Date(0).toISOString(), new Date(atMs).toISOString()]);
  });
});
