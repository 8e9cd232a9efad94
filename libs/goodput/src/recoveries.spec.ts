import type { JobRecovery } from '@coxswain/api-types';
import type { AttemptHistory, JobHistory, RunHistory } from './history.ts';
import { recoveriesOf, secondsPerSave } from './recoveries.ts';

const S = 1_000;

/** A run whose last step was at 100 s and whose failure was recorded at 130 s. */
function failedRun(overrides: Partial<RunHistory> = {}): RunHistory {
  return {
    incarnation: 1,
    runningMs: 10 * S,
    restoredMs: undefined,
    firstStepMs: 20 * S,
    lastStepMs: 100 * S,
    firstStep: 1,
    lastStep: 81,
    resumedFromStep: 0,
    endedMs: 130 * S,
    end: 'failed',
    recovery: 'infrastructureRecovery',
    stepMs: undefined,
    hasSaved: false,
    slowMs: undefined,
    ...overrides,
  };
}

/** A run that began from step 80: ranks at 160 s, loaded at 200 s, first step at 215 s. */
function nextRun(overrides: Partial<RunHistory> = {}): RunHistory {
  return failedRun({
    runningMs: 160 * S,
    restoredMs: 200 * S,
    firstStepMs: 215 * S,
    lastStepMs: undefined,
    firstStep: 81,
    lastStep: undefined,
    resumedFromStep: 80,
    endedMs: undefined,
    end: 'live',
    ...overrides,
  });
}

function attempt(epoch: number, runs: readonly RunHistory[], overrides: Partial<AttemptHistory> = {}): AttemptHistory {
  return {
    epoch,
    gpus: 4,
    heldFromMs: 0,
    heldToMs: undefined,
    heldBeyond: [],
    wasSuspended: false,
    lacksRuns: false,
    saves: undefined,
    runs,
    ...overrides,
  };
}

function job(...attempts: readonly AttemptHistory[]): JobHistory {
  return { createdMs: 0, asOfMs: 1_000 * S, observedMs: 1_000 * S, isFinished: false, attempts };
}

/** The phases in one line: noticing, waiting, starting, loading, stepping = total. */
function inOneLine({ noticing, waiting, starting, loading, stepping, total }: JobRecovery): string {
  const words = [noticing, waiting, starting, loading, stepping].map((seconds) => seconds ?? '-');
  return `${words.join(' ')} = ${total ?? '-'}`;
}

const elsewhere = (run: Partial<RunHistory> = {}): AttemptHistory =>
  attempt(2, [nextRun(run)], { heldFromMs: 145 * S });

describe('from a failure to the next step', () => {
  it.each<[string, JobHistory, readonly string[]]>([
    ['a job that never failed has none', job(attempt(1, [nextRun()])), []],
    ['a suspended job has none', job(attempt(1, [failedRun({ end: 'stopped' })]), elsewhere()), []],
    ['a new gang: it waits for nodes', job(attempt(1, [failedRun()]), elsewhere()), ['30 15 15 40 15 = 85']],
    [
      'a gang whose first runs are not recorded: what followed the failure is not known',
      job(attempt(1, [failedRun()]), attempt(2, [nextRun({ incarnation: 17 })], { lacksRuns: true })),
      [],
    ],
    [
      'ranks that start again in their pods wait for no nodes',
      job(attempt(1, [failedRun(), nextRun({ incarnation: 2 })])),
      ['30 0 30 40 15 = 85'],
    ],
    [
      'a run that loads nothing',
      job(attempt(1, [failedRun()]), elsewhere({ restoredMs: undefined })),
      ['30 15 15 - 55 = 85'],
    ],
    [
      'a run that has no step yet',
      job(attempt(1, [failedRun()]), elsewhere({ restoredMs: undefined, firstStepMs: undefined })),
      ['30 15 15 - - = -'],
    ],
    [
      'a run that failed before its first step',
      job(attempt(1, [failedRun({ firstStepMs: undefined, lastStepMs: undefined, lastStep: undefined })]), elsewhere()),
      ['- 15 15 40 15 = 85'],
    ],
    [
      'a clock that was set back',
      job(attempt(1, [failedRun()]), elsewhere({ runningMs: 90 * S })),
      ['30 15 0 55 15 = 85'],
    ],
    ['a failure without a time is left out', job(attempt(1, [failedRun({ endedMs: undefined })]), elsewhere()), []],
  ])('%s', (_name, history, expected) => {
    expect(recoveriesOf(history).map(inOneLine)).toEqual(expected);
  });

  it('says which run followed, from which step, and what was reached before', () => {
    expect(recoveriesOf(job(attempt(1, [failedRun()]), elsewhere()))).toMatchObject([
      { epoch: 2, incarnation: 1, failedAt: '1970-01-01T00:02:10.000Z', resumedFromStep: 80, lastStep: 81 },
    ]);
  });

  it('keeps the newest fifty', () => {
    const many = Array.from({ length: 60 }, (_, index) => failedRun({ incarnation: index + 1 }));
    const kept = recoveriesOf(job(attempt(1, many)));
    expect(kept).toHaveLength(50);
    expect(kept.at(-1)).toMatchObject({ incarnation: 60 });
  });
});

describe('seconds that ranks stood still for a save', () => {
  it.each<[string, readonly AttemptHistory['saves'][], number | null]>([
    ['saves took less than reports of steps show', [{ saves: 2, ms: 0 }], null],
    ['nothing was saved', [{ saves: 0, ms: 5 * S }, undefined], null],
    [
      'the mean of all saves',
      [
        { saves: 1, ms: 6 * S },
        { saves: 3, ms: 6 * S },
      ],
      3,
    ],
    [
      'time between steps of an attempt without a save does not count',
      [
        { saves: 0, ms: 50 * S },
        { saves: 2, ms: 4 * S },
      ],
      2,
    ],
  ])('%s', (_name, saves, expected) => {
    expect(secondsPerSave(job(...saves.map((each, index) => attempt(index + 1, [], { saves: each }))))).toBe(expected);
  });
});
