import type { Attempt, JobPlan, TrainingJob } from '@coxswain/api-types';
import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import { isOverdue, predictedEnd } from './predicted-end.ts';

const MINUTE = 60_000;
const START = Date.parse('2026-01-01T00:00:00Z');
const iso = (minutes: number): string => new Date(START + minutes * MINUTE).toISOString();

/** A job of 1,000 steps; times are minutes after the start of its newest attempt. */
function aJob(facts: {
  readonly attempt?: Partial<Attempt>;
  /** Newest step, and when it was reported. */
  readonly progress?: readonly [step: number, at: number];
  readonly stepMs?: readonly [stepMs: number, lowMs: number, highMs: number];
  readonly maxRuntimeSeconds?: number;
  readonly steps?: number;
}): TrainingJob {
  const { attempt, progress, stepMs, maxRuntimeSeconds, steps = 1_000 } = facts;
  const job = aTrainingJob({ spec: { training: { steps, globalBatchSize: 8, learningRate: 0.01 } } });
  return {
    ...job,
    spec: { ...job.spec, ...(maxRuntimeSeconds === undefined ? {} : { maxRuntimeSeconds }) },
    status: {
      epoch: 1,
      restarts: { total: 0, charged: 0 },
      ...(attempt === undefined ? {} : { attempts: [anAttempt({ startedAt: iso(0), ...attempt })] }),
      ...(progress === undefined ? {} : { progress: { step: progress[0], reportedAt: iso(progress[1]) } }),
      ...(stepMs === undefined
        ? {}
        : {
            plan: {
              predictedStepMs: stepMs[0],
              predictedStepLowMs: stepMs[1],
              predictedStepHighMs: stepMs[2],
            } as JobPlan,
          }),
    },
  };
}

const ended = (epoch: number, from: number, to: number): Attempt =>
  anAttempt({ epoch, stage: 'Ended', outcome: 'Failed', startedAt: iso(from), endedAt: iso(to) });

/** A job with a limit of an hour that waits after these attempts. */
function afterRuns(attempts: readonly Attempt[], runtime?: NonNullable<TrainingJob['status']>['runtime']): TrainingJob {
  const { status = { epoch: 0, restarts: { total: 0, charged: 0 } }, ...job } = aJob({ maxRuntimeSeconds: 3_600 });
  return { ...job, status: { ...status, attempts: [...attempts], ...(runtime === undefined ? {} : { runtime }) } };
}

const PACE = { steps: 100, inStepsMs: 100 * MINUTE * 0.9, betweenStepsMs: 10 * MINUTE, saves: 2 };
const firstStep = { step: 1, at: iso(5) };

describe('the end of a job', () => {
  it.each<[string, TrainingJob, number, readonly [number, number, number | undefined, string]]>([
    [
      'that runs is its remaining steps at their measured time, with saves',
      aJob({ attempt: { firstStep, pace: PACE }, progress: [100, 105] }),
      105,
      [1_005, 960, 1_097, 'Measured'],
    ],
    [
      'that starts is predicted by its plan, from the end of its start on',
      aJob({ attempt: {}, stepMs: [MINUTE, 0.9 * MINUTE, 1.2 * MINUTE] }),
      1,
      [1_003, 903, 1_205, 'Predicted'],
    ],
    [
      'that waits is that of a start now',
      aJob({ stepMs: [MINUTE, 0.9 * MINUTE, 1.2 * MINUTE] }),
      10,
      [1_013, 913, 1_215, 'Predicted'],
    ],
    [
      'that waits after a run is its remaining steps at their measured time',
      aJob({ attempt: { stage: 'Ended', firstStep, pace: PACE }, progress: [100, 105] }),
      200,
      [1_205, 1_155, 1_307, 'Measured'],
    ],
    [
      'is no later than its limit allows',
      aJob({ attempt: {}, stepMs: [MINUTE, MINUTE, MINUTE], maxRuntimeSeconds: 3_600 }),
      1,
      [62, 62, 62, 'MaxRuntime'],
    ],
    [
      'with nothing but a limit is that limit',
      aJob({ attempt: {}, maxRuntimeSeconds: 3_600 }),
      1,
      [62, 1, 62, 'MaxRuntime'],
    ],
    [
      'with a limit is sooner by the time of its ended attempts, recorded or not',
      afterRuns([ended(1, -90, -60), ended(2, -30, -20)], { heldSeconds: 1_800, throughEpoch: 1 }),
      0,
      [22, 0, 22, 'MaxRuntime'],
    ],
    [
      'with a limit does not count the time before it was suspended',
      afterRuns([{ ...ended(1, -90, -60), outcome: 'Suspended' }]),
      0,
      [62, 0, 62, 'MaxRuntime'],
    ],
    [
      'without any record is as far away as its start, and may be at any time',
      aJob({ attempt: {} }),
      600,
      [1_200, 600, undefined, 'Assumed'],
    ],
    ['without any record is an hour away at least', aJob({ attempt: {} }), 10, [70, 10, undefined, 'Assumed']],
    [
      'that runs past what was predicted is not known',
      aJob({ attempt: {}, stepMs: [MINUTE, MINUTE, MINUTE] }),
      1_010,
      [2_020, 1_010, undefined, 'Assumed'],
    ],
    [
      'that makes more steps than it asked for is not known',
      aJob({ attempt: { firstStep, pace: PACE }, progress: [1_001, 1_005] }),
      1_006,
      [2_012, 1_006, undefined, 'Assumed'],
    ],
    [
      'that runs past what was predicted is its limit, if it has one',
      aJob({ attempt: {}, stepMs: [MINUTE, MINUTE, MINUTE], steps: 10, maxRuntimeSeconds: 6_000 }),
      30,
      [102, 30, 102, 'MaxRuntime'],
    ],
    [
      'that stops is that of its grace period',
      aJob({ attempt: { stage: 'Stopping', stoppingAt: iso(20) }, stepMs: [MINUTE, MINUTE, MINUTE] }),
      20.5,
      [21, 20.5, 23, 'Measured'],
    ],
  ])('%s', (_sentence, job, nowMinutes, [at, earliest, latest, restsOn]) => {
    const minutes = (time: Date | undefined): number | undefined =>
      time === undefined ? undefined : Math.round((time.getTime() - START) / MINUTE / 0.5) * 0.5;
    const end = predictedEnd(job, new Date(iso(nowMinutes)));
    expect([minutes(end.at), minutes(end.earliest), minutes(end.latest), end.restsOn]).toEqual([
      at,
      earliest,
      latest,
      restsOn,
    ]);
  });
});

it.each<[string, TrainingJob, number, boolean]>([
  ['a job within its prediction is not overdue', aJob({ attempt: {}, stepMs: [MINUTE, MINUTE, MINUTE] }), 900, false],
  ['a job past its prediction is overdue', aJob({ attempt: {}, stepMs: [MINUTE, MINUTE, MINUTE] }), 1_010, true],
  ['a job past its steps is overdue', aJob({ attempt: { firstStep, pace: PACE }, progress: [1_001, 5] }), 6, true],
  ['a job without any record is never overdue', aJob({ attempt: {} }), 9_000, false],
  ['a job that waits is never overdue', aJob({ stepMs: [1, 1, 1] }), 9_000, false],
])('%s', (_sentence, job, nowMinutes, want) => {
  expect(isOverdue(job, new Date(iso(nowMinutes)))).toBe(want);
});

it('a job of the most and longest steps ends at a time that a resource can hold', () => {
  const longest = [100 * MINUTE, 100 * MINUTE, 100 * MINUTE] as const;
  const end = predictedEnd(aJob({ attempt: {}, steps: 1_000_000_000, stepMs: longest }), new Date(iso(1)));
  expect([end.at, end.earliest, end.latest].map((at) => at?.toISOString().slice(0, 4))).toEqual(Array(3).fill('9999'));
});
