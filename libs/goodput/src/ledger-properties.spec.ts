import type { GoodputCategory } from '@coxswain/api-types';
import fc from 'fast-check';
import type { AttemptHistory, HeldBeyondEnd, HeldByStandbys, JobHistory, RunHistory } from './history.ts';
import { gpuMsOf, gpuTimeOf } from './gpu-time.ts';
import { jobGoodput } from './job-goodput.ts';
import { ledgerOf } from './ledger.ts';

const S = 1_000;

/* Any history at all: moments anywhere or nowhere, in any order; attempts that overlap; steps and times that cannot be. */
const moment = fc.option(fc.integer({ min: -1e6, max: 1e7 }), { nil: undefined });
const when = fc.integer({ min: -1e6, max: 1e7 });
const step = fc.option(fc.integer({ min: 0, max: 1e6 }), { nil: undefined });
const ledger = fc.option(fc.oneof(fc.double({ min: -1e3, max: 1e9 }), fc.constant(Number.NaN)), { nil: undefined });
const run = fc.record<RunHistory>({
  incarnation: fc.integer({ min: 1, max: 9 }),
  runningMs: moment,
  restoredMs: moment,
  marks: fc.record({ failed: when, reaped: when, met: when }, { requiredKeys: [] }),
  firstStepMs: moment,
  lastStepMs: moment,
  firstStep: step,
  lastStep: step,
  resumedFromStep: fc.integer({ min: 0, max: 1e6 }),
  endedMs: moment,
  end: fc.constantFrom('failed', 'madeRoom', 'stopped', 'live', 'unknown'),
  recovery: fc.constantFrom('infrastructureRecovery', 'programRecovery', 'unexplainedRecovery'),
  stepMs: ledger,
  hasSaved: fc.boolean(),
  slowMs: ledger,
});
const attempt = fc.record<AttemptHistory>({
  epoch: fc.integer({ min: 1, max: 99 }),
  gpus: fc.integer({ min: 1, max: 100_000 }),
  heldFromMs: moment,
  heldToMs: moment,
  heldBeyond: fc.array(
    fc.record<HeldBeyondEnd>({
      gpus: fc.integer({ min: 1, max: 100_000 }),
      fromMs: fc.integer({ min: -1e6, max: 2e7 }),
      toMs: moment,
    }),
    { maxLength: 3 },
  ),
  standbys: fc.array(fc.record<HeldByStandbys>({ gpus: fc.integer({ min: 1, max: 100_000 }), toMs: moment }), {
    maxLength: 3,
  }),
  wasSuspended: fc.boolean(),
  lacksRuns: fc.boolean(),
  saves: fc.constant(undefined),
  runs: fc.array(run, { minLength: 1, maxLength: 4 }),
});
const job = fc
  .record({
    createdMs: moment,
    asOfMs: fc.integer({ min: -1e6, max: 1e7 }),
    /** An ended job is observed later. */
    laterMs: fc.integer({ min: 0, max: 1e7 }),
    isFinished: fc.boolean(),
    saveStops: fc.constant([]),
    attempts: fc.array(attempt, { maxLength: 6 }),
  })
  .map(({ laterMs, ...of }): JobHistory => ({ ...of, observedMs: of.asOfMs + (of.isFinished ? laterMs : 0) }));

/** GPU-seconds of fenced pods, pod by pod. */
function heldBeyondSeconds({ attempts, observedMs }: JobHistory): number {
  return attempts
    .flatMap(({ heldBeyond }) => heldBeyond)
    .reduce((sum, { gpus, fromMs, toMs = observedMs }) => {
      return sum + (gpus * Math.max(0, Math.min(toMs, observedMs) - fromMs)) / S;
    }, 0);
}

/** GPU-seconds of standbys, which are held as long as their attempt, or less. */
function mostHeldByStandbys(history: JobHistory): number {
  const { spans } = ledgerOf(history);
  const { attempts } = history;
  return attempts.reduce((sum, { epoch, standbys }) => {
    const heldMs = spans.filter((span) => span.epoch === epoch).reduce((ms, span) => ms + span.toMs - span.fromMs, 0);
    return sum + (standbys.reduce((gpus, one) => gpus + one.gpus, 0) * heldMs) / S;
  }, 0);
}

describe('whatever was recorded', () => {
  it('each held GPU-second is in exactly one category: they add up to GPUs × held seconds to 1e-6', () => {
    fc.assert(
      fc.property(job, (history) => {
        const { spans, runs } = ledgerOf(history);
        const { shares, gpuSeconds, months = [] } = jobGoodput(history, 0);
        const inSpans = spans.reduce((sum, { fromMs, toMs, gpus }) => sum + (gpus * (toMs - fromMs)) / S, 0);
        const ofStandbys = shares.find(({ category }) => category === 'standby')?.gpuSeconds ?? NaN;
        expect(ofStandbys).toBeGreaterThanOrEqual(0);
        expect(ofStandbys).toBeLessThanOrEqual(mostHeldByStandbys(history) * (1 + 1e-9));
        const held = inSpans + heldBeyondSeconds(history) + ofStandbys;
        const inShares = shares.reduce((sum, share) => sum + share.gpuSeconds, 0);
        const tolerance = 1e-6 * Math.max(1, held);
        expect(Math.abs(inShares - held)).toBeLessThanOrEqual(tolerance);
        expect(Math.abs(gpuSeconds - held)).toBeLessThanOrEqual(tolerance);
        const inMonths = months.reduce((sum, month) => sum + month.gpuSeconds, 0);
        expect(Math.abs(inMonths - inSpans - ofStandbys)).toBeLessThanOrEqual(tolerance);
        for (const { ms } of runs)
          for (const value of Object.values(ms)) expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
      }),
    );
  });

  it('no moment is held twice, and none between the creation and the look is left out', () => {
    fc.assert(
      fc.property(job, (history) => {
        const { spans } = ledgerOf(history);
        for (const [index, span] of spans.entries()) {
          expect(span.toMs).toBeGreaterThan(span.fromMs);
          if (index > 0) expect(span.fromMs).toBe(spans[index - 1]?.toMs);
        }
        if (spans.length > 0) expect(spans.at(-1)?.toMs).toBeLessThanOrEqual(history.asOfMs);
      }),
    );
  });

  it('what ranks tell of their steps moves time between categories of their own job’s steps alone', () => {
    const STEPS: readonly GoodputCategory[] = ['productive', 'wastedProgress', 'checkpointSave', 'slow', 'other'];
    const apart = (history: JobHistory): readonly unknown[] =>
      ledgerOf(history).runs.map(({ ms }) => [
        STEPS.reduce((sum, name) => sum + ms[name], 0),
        ...Object.entries(ms).filter(([name]) => !STEPS.includes(name as GoodputCategory)),
      ]);
    fc.assert(
      fc.property(job, ledger, fc.boolean(), (history, stepMs, hasSaved) => {
        const otherwise = history.attempts.map((one) => ({
          ...one,
          runs: one.runs.map((each) => ({ ...each, stepMs, hasSaved })),
        }));
        expect(apart({ ...history, attempts: otherwise })).toEqual(apart(history));
      }),
    );
  });
});

describe('the GPU time of a job as it passes', () => {
  it('is that of its ledger at any later moment up to the next record', () => {
    fc.assert(
      fc.property(job, fc.integer({ min: 0, max: 1e7 }), (history, afterMs) => {
        const plain = history.attempts.map((one) => ({
          ...one,
          runs: one.runs.map((each) => ({ ...each, stepMs: undefined, slowMs: undefined })),
        }));
        const now = { ...history, attempts: plain };
        const { fromMs, toMs, gpuMs, growth } = gpuTimeOf(now);
        const untilMs = Math.min(toMs, fromMs + afterMs);
        const later = gpuMsOf(
          ledgerOf({ ...now, observedMs: untilMs, ...(history.isFinished ? {} : { asOfMs: untilMs }) }),
        );
        // Steps that were trained again are whole milliseconds of each run.
        const rounding = plain.reduce((sum, { gpus, runs }) => sum + gpus * runs.length, 0);
        for (const category of Object.keys(later) as GoodputCategory[]) {
          const reached = gpuMs[category] + growth[category] * (untilMs - fromMs);
          expect(Math.abs(reached - later[category])).toBeLessThanOrEqual(rounding + 1);
        }
      }),
      { numRuns: 500 },
    );
  });
});
