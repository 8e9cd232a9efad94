import { type JobRecovery, RESTART_PHASES } from '@coxswain/api-types';
import fc from 'fast-check';
import type { AttemptHistory, JobHistory, RunHistory } from './history.ts';
import { recoveriesOf, restartPhaseTotals, secondsPerSave } from './recoveries.ts';

const S = 1_000;

/** A run whose last step was at 100 s and whose failure was recorded at 130 s. */
function failedRun(overrides: Partial<RunHistory> = {}): RunHistory {
  return {
    incarnation: 1,
    runningMs: 10 * S,
    restoredMs: undefined,
    marks: {},
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
    standbys: [],
    wasSuspended: false,
    lacksRuns: false,
    saves: undefined,
    runs,
    ...overrides,
  };
}

function job(...attempts: readonly AttemptHistory[]): JobHistory {
  return { createdMs: 0, asOfMs: 1_000 * S, observedMs: 1_000 * S, isFinished: false, saveStops: [], attempts };
}

/** Seconds of the phases in one line, from detecting to stepping = total. */
function inOneLine({ phases, total }: JobRecovery): string {
  return `${phases.map(({ seconds }) => seconds ?? '-').join(' ')} = ${total ?? '-'}`;
}

const elsewhere = (run: Partial<RunHistory> = {}): AttemptHistory =>
  attempt(2, [nextRun(run)], { heldFromMs: 145 * S });
/** The failure was seen at 128 s, and the gang was gone at 140 s. */
const seen = (run: Partial<RunHistory> = {}): AttemptHistory =>
  attempt(1, [failedRun({ marks: { failed: 128 * S }, ...run })], { heldToMs: 140 * S });
const hooked = { started: 158 * S, imported: 170 * S, met: 180 * S, loaded: 195 * S };

describe('from the last step before a failure to the next one', () => {
  it.each<[string, JobHistory, readonly string[]]>([
    ['a job that never failed has none', job(attempt(1, [nextRun()])), []],
    ['a suspended job has none', job(attempt(1, [failedRun({ end: 'stopped' })]), elsewhere()), []],
    [
      'a new gang whose marks are all known',
      job(seen(), elsewhere({ marks: hooked })),
      ['28 2 10 5 13 12 10 15 20 = 115'],
    ],
    [
      'a new gang for which launchers and hooks reported nothing: its time is in the phases that are known',
      job(attempt(1, [failedRun()]), elsewhere()),
      ['- 30 - 15 15 - - 40 15 = 115'],
    ],
    [
      'a gang whose first runs are not recorded: what followed the failure is not known',
      job(attempt(1, [failedRun()]), attempt(2, [nextRun({ incarnation: 17 })], { lacksRuns: true })),
      [],
    ],
    [
      'ranks that start again in their pods wait for no nodes',
      job(
        attempt(1, [
          failedRun({ marks: { failed: 128 * S } }),
          nextRun({ incarnation: 2, marks: { ...hooked, reaped: 133 * S } }),
        ]),
      ),
      ['28 2 3 0 25 12 10 15 20 = 115'],
    ],
    [
      'ranks in their pods for which nothing was reported',
      job(attempt(1, [failedRun(), nextRun({ incarnation: 2 })])),
      ['- 30 - 0 30 - - 40 15 = 115'],
    ],
    [
      'a run that loads nothing',
      job(attempt(1, [failedRun()]), elsewhere({ restoredMs: undefined })),
      ['- 30 - 15 15 - - - 55 = 115'],
    ],
    [
      'a run that has no step yet',
      job(seen(), elsewhere({ restoredMs: undefined, firstStepMs: undefined, marks: { started: 158 * S } })),
      ['28 2 10 5 13 - - - - = -'],
    ],
    [
      'a run that failed before its first step begins with its failure',
      job(seen({ firstStepMs: undefined, lastStepMs: undefined, lastStep: undefined }), elsewhere({ marks: hooked })),
      ['- 2 10 5 13 12 10 15 20 = 87'],
    ],
    [
      'a clock that was set back moves a border',
      job(seen(), elsewhere({ marks: { ...hooked, started: 90 * S, loaded: 999 * S } })),
      ['28 2 10 5 0 25 10 35 0 = 115'],
    ],
    ['a failure without a time is left out', job(attempt(1, [failedRun({ endedMs: undefined })]), elsewhere()), []],
  ])('%s', (_name, history, expected) => {
    expect(recoveriesOf(history).map(inOneLine)).toEqual(expected);
  });

  it('phases add up to the total, whatever is known and however clocks step', () => {
    const step = fc.integer({ min: 0, max: 400 * S });
    const moment = fc.option(step, { nil: undefined });
    const marks = fc.record(
      { reaped: step, started: step, imported: step, met: step, loaded: step, failed: step },
      { requiredKeys: [] },
    );
    const times = fc.record({ runningMs: moment, restoredMs: moment, lastStepMs: moment, marks });
    const ends = fc.record({ heldFromMs: moment, heldToMs: moment, isInPods: fc.boolean() });
    fc.assert(
      fc.property(times, times, ends, step, (before, after, { heldFromMs, heldToMs, isInPods }, firstStepMs) => {
        const [failed, next] = [failedRun(before), nextRun({ ...after, firstStepMs })];
        const history = isInPods
          ? job(attempt(1, [failed, next]))
          : job(attempt(1, [failed], { heldToMs }), attempt(2, [next], { heldFromMs }));
        const [{ phases = [], total = null } = {}] = recoveriesOf(history);
        const sum = phases.reduce((ms, { seconds }) => ms + Math.round((seconds ?? 0) * S), 0);
        expect(sum).toBe(Math.round((total ?? NaN) * S));
        expect(phases.every(({ seconds }) => seconds === null || seconds >= 0)).toBe(true);
      }),
    );
  });

  it('all restarts together cost what each of them did, and hold the GPUs of the gang that is there', () => {
    const two = job(seen(), elsewhere({ marks: hooked, end: 'failed', endedMs: 300 * S, lastStepMs: 290 * S }), {
      ...attempt(3, [nextRun({ runningMs: 310 * S, restoredMs: undefined, firstStepMs: undefined })]),
      heldFromMs: 305 * S,
    });
    const of = (phase: string): object | undefined => restartPhaseTotals(two).find((one) => one.phase === phase);
    expect(restartPhaseTotals(two).map(({ phase }) => phase)).toEqual(Object.keys(RESTART_PHASES));
    expect(of('importing')).toEqual({ phase: 'importing', restarts: 1, seconds: 12, gpuSeconds: 48 });
    expect(of('placing')).toEqual({ phase: 'placing', restarts: 1, seconds: 5, gpuSeconds: 0 });
    expect(of('deciding')).toEqual({ phase: 'deciding', restarts: 1, seconds: 2, gpuSeconds: 8 });
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
