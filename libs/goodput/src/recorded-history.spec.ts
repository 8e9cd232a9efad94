import type { Attempt, JobGoodput } from '@coxswain/api-types';
import { anAttempt } from '@coxswain/api-types/testing';
import { jobGoodput } from './job-goodput.ts';
import { type RecordedJob, recordedHistory } from './recorded-history.ts';

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();

/** Four GPUs from 10 s on: running at 20 s, first step at 30 s, step 101 at 130 s. */
const trained: Attempt = anAttempt({
  startedAt: at(10),
  runningAt: at(20),
  firstStep: { step: 1, at: at(30) },
});
const failed: Attempt = {
  ...trained,
  stage: 'Ended',
  outcome: 'Failed',
  reason: 'EngineFailed',
  judgement: { rule: 'default', action: 'Restart', class: 'GpuLost', blame: 'node' },
  stoppingAt: at(140),
  endedAt: at(150),
  lastStep: 101,
  lastStepAt: at(130),
};
const evicted: Attempt = {
  ...trained,
  stage: 'Ended',
  outcome: 'Moved',
  reason: 'QuotaEvicted',
  stoppingAt: at(140),
  endedAt: at(150),
  lastStep: 101,
  lastStepAt: at(130),
};

function goodputOf(attempts: readonly Attempt[], overrides: Partial<RecordedJob> = {}): JobGoodput {
  const job: RecordedJob = {
    createdAt: at(0),
    finishedAt: undefined,
    attempts,
    progress: undefined,
    stepMsByEpoch: new Map(),
    savedRuns: new Set(),
    stepCosts: [],
    now: new Date(at(200)),
    ...overrides,
  };
  return jobGoodput(recordedHistory(job), 0);
}

/** GPU-seconds by category, without those that have none. */
function sharesOf(goodput: JobGoodput): Record<string, number> {
  return Object.fromEntries(
    goodput.shares.filter((one) => one.gpuSeconds > 0).map((one) => [one.category, one.gpuSeconds]),
  );
}

describe('what was recorded of a job', () => {
  it.each<[string, readonly Attempt[], Partial<RecordedJob>, Record<string, number>]>([
    ['nothing yet: no GPU was held', [], {}, {}],
    [
      'a failed attempt of four GPUs',
      [failed],
      {},
      { initialisation: 80, productive: 400, infrastructureRecovery: 80 },
    ],
    [
      'one that Kueue evicted, as one that made room for another job',
      [evicted],
      {},
      { initialisation: 80, productive: 400, preemption: 80 },
    ],
    [
      'one with a rank that made each of its steps a quarter longer for 40 s',
      [failed],
      { stepCosts: [{ epoch: 1, incarnation: 1, noticedAt: at(50), closedAt: at(90), costMsPerStep: 250 }] },
      { initialisation: 80, productive: 360, slow: 40, infrastructureRecovery: 80 },
    ],
    [
      'one that trains: up to the progress that was written last, and nobody knows what since',
      [trained],
      { progress: { step: 101, reportedAt: at(130) } },
      { initialisation: 80, productive: 400, other: 280 },
    ],
    [
      'one that is over: progress says nothing of it',
      [failed],
      { progress: { step: 900, reportedAt: at(149) } },
      { initialisation: 80, productive: 400, infrastructureRecovery: 80 },
    ],
    [
      'ranks that began from a save in the memory of their pods: few steps are trained again',
      [
        {
          ...trained,
          incarnation: 2,
          resumedFrom: { checkpoint: 'c', step: 1 },
          memorySave: { incarnation: 1, step: 81 },
          runningAt: at(140),
          restoredAt: at(142),
          firstStep: { step: 82, at: at(145) },
          incarnations: [
            {
              incarnation: 1,
              runningAt: at(20),
              firstStep: { step: 1, at: at(30) },
              lastStepAt: at(130),
              lastStep: 101,
              endedAt: at(135),
              reason: 'EngineFailed',
              judgement: { rule: 'default', action: 'Restart', class: 'GpuLost', blame: 'node' },
              charged: true,
            },
          ],
        },
      ],
      { progress: { step: 137, reportedAt: at(200) } },
      {
        initialisation: 4 * (20 + 3),
        checkpointRestore: 4 * 2,
        productive: 4 * (80 + 55),
        wastedProgress: 4 * 20,
        infrastructureRecovery: 4 * (5 + 5),
      },
    ],
    [
      'ranks that were started again in their pods, from the step that they saved',
      [
        {
          ...trained,
          incarnation: 2,
          resumedFrom: { checkpoint: 'c', step: 81 },
          runningAt: at(140),
          restoredAt: at(142),
          firstStep: { step: 82, at: at(145) },
          incarnations: [
            {
              incarnation: 1,
              runningAt: at(20),
              firstStep: { step: 1, at: at(30) },
              lastStepAt: at(130),
              lastStep: 101,
              endedAt: at(135),
              reason: 'EngineFailed',
              judgement: { rule: 'default', action: 'Restart', class: 'GpuLost', blame: 'node' },
              charged: true,
            },
          ],
        },
      ],
      { progress: { step: 137, reportedAt: at(200) } },
      {
        initialisation: 4 * (20 + 3),
        checkpointRestore: 4 * 2,
        productive: 4 * (80 + 55),
        wastedProgress: 4 * 20,
        infrastructureRecovery: 4 * (5 + 5),
      },
    ],
    [
      'the time between steps, of the run that saved',
      [failed],
      { stepMsByEpoch: new Map([[1, 950]]), savedRuns: new Set(['1.1']) },
      { initialisation: 80, productive: 380, checkpointSave: 20, infrastructureRecovery: 80 },
    ],
    [
      'the same of an epoch that saved nothing in this run',
      [failed],
      { stepMsByEpoch: new Map([[1, 950]]), savedRuns: new Set(['1.2', '2.1']) },
      { initialisation: 80, productive: 380, other: 20, infrastructureRecovery: 80 },
    ],
    [
      'times that cannot be read: what they would have parted stays together',
      [{ ...failed, runningAt: 'soon', firstStep: { step: 1, at: '' } }],
      {},
      { initialisation: 520, infrastructureRecovery: 40 },
    ],
  ])('%s', (_, attempts, overrides, expected) => {
    expect(sharesOf(goodputOf(attempts, overrides))).toEqual(expected);
  });

  it.each<[string, NonNullable<Attempt['judgement']>['blame'] | undefined, string]>([
    ['program', 'program', 'programRecovery'],
    ['node', 'node', 'infrastructureRecovery'],
    ['network', 'network', 'infrastructureRecovery'],
    ['storage', 'storage', 'infrastructureRecovery'],
    ['cluster', 'cluster', 'infrastructureRecovery'],
    ['unknown', 'unknown', 'unexplainedRecovery'],
    ['a record of an earlier release', undefined, 'unexplainedRecovery'],
  ])('charges the recovery to what the failure is blamed on: %s', (_blame, blame, category) => {
    const { judgement: _, ...plain } = failed;
    const judgement = { rule: 'default', action: 'Restart', class: 'Unknown', blame: blame ?? 'unknown' } as const;
    const attempt = blame === undefined ? plain : { ...plain, judgement };
    expect(sharesOf(goodputOf([attempt]))[category]).toBe(80);
  });

  it('holds GPUs of fenced pods as long as their number says', () => {
    const heldByFenced = [
      { at: at(150), gpus: 2 },
      { at: at(160), gpus: 1 },
      { at: 'soon', gpus: 4 },
      { at: at(180), gpus: 0 },
    ];
    expect(sharesOf(goodputOf([{ ...failed, heldByFenced }]))['lostNode']).toBe(2 * 10 + 20);
  });

  it('counts standbys until they take a place, beside what the gang holds', () => {
    const ended = { incarnation: 1, endedAt: at(60), reason: 'NodeLost', charged: false } as const;
    const replacements = [{ podIndex: 1, standby: 2, incarnation: 2 }];
    const attempt = { ...failed, incarnation: 2, incarnations: [ended], standbys: 2, standbyGpus: 4, replacements };
    // Two GPUs from 10 s to 60 s, and two to the end at 150 s.
    expect(sharesOf(goodputOf([attempt]))['standby']).toBe(2 * 50 + 2 * 140);
    expect(goodputOf([attempt]).gpuSeconds).toBe(goodputOf([{ ...attempt, standbys: undefined }]).gpuSeconds + 380);
  });

  const restarts = (...incarnations: readonly number[]) =>
    incarnations.map(
      (incarnation) =>
        ({ incarnation, endedAt: at(50 + incarnation * 10), reason: 'NodeLost', charged: false }) as const,
    );
  const seat = { podIndex: 1, standby: 2, incarnation: 2 };
  it.each<[string, Pick<Attempt, 'replacements' | 'incarnations' | 'lostStandbys'>, number]>([
    ['when the replacement says', { replacements: [{ ...seat, at: at(61) }], incarnations: restarts(1) }, 61],
    [
      'also after its incarnation was dropped',
      { replacements: [{ ...seat, at: at(61) }], incarnations: restarts(3, 4) },
      61,
    ],
    [
      'of an earlier release at the latest when the first kept incarnation ended',
      { replacements: [seat], incarnations: restarts(3, 4) },
      80,
    ],
    [
      'of an earlier release when the incarnation before it ended, if its time is kept',
      { replacements: [{ ...seat, incarnation: 4 }], incarnations: restarts(2, 3) },
      80,
    ],
    ['when it is lost', { lostStandbys: [{ podIndex: 2, at: at(50) }] }, 50],
    ['at once if no end is known', { replacements: [seat], incarnations: [] }, 10],
  ])('a standby ends to wait %s', (_sentence, recorded, toSecond) => {
    const attempt = { ...failed, incarnation: 5, standbys: 1, standbyGpus: 2, ...recorded };
    expect(sharesOf(goodputOf([attempt]))['standby'] ?? 0).toBe(2 * (toSecond - 10));
  });

  it('ends with the job: nothing is waited for any more', () => {
    const ledger = goodputOf([{ ...failed, outcome: 'Succeeded' }], { finishedAt: at(149) });
    expect(ledger).toMatchObject({ asOf: at(150), heldSeconds: 140, waitingSeconds: 10, goodput: 400 / 560 });
  });

  it('goes on waiting until it ends', () => {
    expect(goodputOf([failed])).toMatchObject({ asOf: at(200), waitingSeconds: 60, suspendedSeconds: 0 });
    expect(goodputOf([{ ...failed, outcome: 'Suspended' }])).toMatchObject({
      waitingSeconds: 10,
      suspendedSeconds: 50,
    });
  });
});
