import { GOODPUT_CATEGORIES, type TrainingJob } from '@coxswain/api-types';
import { anAttempt, aTrainingJob } from '@coxswain/api-types/testing';
import { jobGoodput, recordedHistory } from '@coxswain/goodput';
import fc from 'fast-check';
import { GoodputTotals, type GoodputTotal, OTHER_NAMESPACES } from './goodput-totals.ts';

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
const NOW = new Date(at(200));

/** Held four GPUs for 140 s: 20 s of start, 100 s of steps, 20 s until it was gone. */
function aJob(namespace: string, status: object = {}): TrainingJob {
  const attempt = anAttempt({
    stage: 'Ended',
    outcome: 'Failed',
    reason: 'EngineFailed',
    startedAt: at(10),
    firstStep: { step: 1, at: at(30) },
    lastStep: 101,
    lastStepAt: at(130),
    stoppingAt: at(140),
    endedAt: at(150),
  });
  const job = aTrainingJob({ metadata: { namespace } });
  return { ...job, status: { epoch: 1, restarts: { total: 1, charged: 1 }, attempts: [attempt], ...status } };
}

function goodputTotals(jobs: readonly TrainingJob[], now: Date): readonly GoodputTotal[] {
  const totals = new GoodputTotals(() => now);
  for (const [index, job] of jobs.entries())
    totals.record({ ...job, metadata: { ...job.metadata, uid: `uid-${index}` } });
  return totals.read();
}

const sharesOf = (jobs: readonly TrainingJob[], namespace: string): Record<string, number> =>
  Object.fromEntries(
    goodputTotals(jobs, NOW)
      .filter((one) => one.namespace === namespace && one.gpuSeconds > 0)
      .map(({ category, gpuSeconds }) => [category, gpuSeconds]),
  );

describe('GPU time of all jobs', () => {
  const ofOne = { initialisation: 80, productive: 400, unexplainedRecovery: 80 };

  it('is summed by namespace and category', () => {
    const jobs = [aJob('a'), aJob('b'), aJob('b')];
    expect(sharesOf(jobs, 'a')).toEqual(ofOne);
    expect(sharesOf(jobs, 'b')).toEqual({ initialisation: 160, productive: 800, unexplainedRecovery: 160 });
  });

  it('is told of every category, also where nothing went into it, so that a series never vanishes', () => {
    expect(goodputTotals([aJob('a')], NOW)).toHaveLength(Object.keys(GOODPUT_CATEGORIES).length);
  });

  it('has as many series as were said, however many namespaces there are, and loses nothing', () => {
    const jobs = Array.from({ length: 250 }, (_, index) => aJob(`n${index}`));
    const totals = goodputTotals(jobs, NOW);
    expect(new Set(totals.map(({ namespace }) => namespace)).size).toBe(201);
    expect(totals.reduce((sum, one) => sum + one.gpuSeconds, 0)).toBeCloseTo(250 * 560, 6);
    expect(sharesOf(jobs, OTHER_NAMESPACES)['productive']).toBe(50 * 400);
  });

  it('counts a job that somebody spoilt as none, and all others as ever', () => {
    const spoilt = aJob('a', { attempts: [{ epoch: 'x' }, null] });
    expect(sharesOf([spoilt, aJob('a')], 'a')).toEqual(ofOne);
  });
});

/** GPU-seconds by namespace and category, computed anew from every job. */
function recomputed(jobs: Iterable<TrainingJob>, now: Date): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { metadata, status } of jobs) {
    const history = recordedHistory({
      createdAt: metadata.creationTimestamp,
      finishedAt: status?.conditions?.find(({ type }) => type === 'Complete')?.lastTransitionTime,
      attempts: status?.attempts ?? [],
      progress: status?.progress,
      stepMsByEpoch: new Map(),
      savedRuns: new Set(),
      stepCosts: [],
      now,
    });
    for (const { category, gpuSeconds } of jobGoodput(history, 0).shares) {
      const key = `${metadata.namespace} ${category}`;
      sums.set(key, (sums.get(key) ?? 0) + gpuSeconds);
    }
  }
  return sums;
}

const moment = (maxSeconds: number): fc.Arbitrary<string | undefined> =>
  fc.option(fc.integer({ min: 0, max: maxSeconds }).map(at), { nil: undefined });
const anyStep = (maxSeconds: number): fc.Arbitrary<Record<string, unknown>> =>
  fc.record({
    firstStep: fc.option(fc.record({ step: fc.nat(100), at: fc.nat(maxSeconds).map(at) }), { nil: undefined }),
    lastStep: fc.option(fc.nat(500), { nil: undefined }),
    lastStepAt: moment(maxSeconds),
    resumedFrom: fc.option(fc.record({ checkpoint: fc.constant('c'), step: fc.nat(400) }), { nil: undefined }),
  });
/** A status whose records lie anywhere up to `maxSeconds`. */
const anyStatus = (maxSeconds: number): fc.Arbitrary<object> =>
  fc.record({
    progress: fc.option(fc.record({ step: fc.nat(600), reportedAt: fc.nat(maxSeconds).map(at) }), { nil: undefined }),
    conditions: fc.option(
      fc.nat(maxSeconds).map((s) => [{ type: 'Complete', status: 'True', lastTransitionTime: at(s) }]),
      { nil: undefined },
    ),
    attempts: fc.array(
      fc
        .tuple(
          fc.record({
            startedAt: moment(maxSeconds),
            runningAt: moment(maxSeconds),
            restoredAt: moment(maxSeconds),
            stoppingAt: moment(maxSeconds),
            endedAt: moment(maxSeconds),
            outcome: fc.constantFrom(undefined, 'Failed', 'Suspended', 'Succeeded'),
          }),
          anyStep(maxSeconds),
        )
        .map(([times, steps]) => anAttempt({ ...times, ...steps } as Parameters<typeof anAttempt>[0])),
      { maxLength: 4 },
    ),
  });
/** What happens to one of six jobs, and how many seconds later. */
const anyEvent = (aheadSeconds: number): fc.Arbitrary<{ job: number; after: number; status: object | 'deleted' }> =>
  fc.record({
    job: fc.nat(5),
    after: fc.nat(100),
    status: fc.oneof({ weight: 4, arbitrary: anyStatus(200 + aheadSeconds) }, fc.constant('deleted' as const)),
  });

describe('GPU time that is kept as jobs change', () => {
  it.each([
    ['of records of the past', 0],
    ['of records of a clock that is up to ten minutes ahead', 600],
  ])('equals what is computed anew from all jobs, %s', (_, aheadSeconds) => {
    fc.assert(
      fc.property(fc.array(anyEvent(aheadSeconds), { maxLength: 12 }), (events) => {
        let seconds = 200;
        const totals = new GoodputTotals(() => new Date(at(seconds)));
        const jobs = new Map<number, TrainingJob>();
        for (const { job: index, after, status } of events) {
          const metadata = { namespace: `n${index % 3}`, uid: `uid-${index}` };
          if (status === 'deleted') {
            jobs.delete(index);
            totals.forget(metadata.uid);
          } else {
            const job = { ...aTrainingJob({ metadata }), status } as unknown as TrainingJob;
            jobs.set(index, job);
            totals.record(job);
          }
          seconds += after;
          const wanted = recomputed(jobs.values(), new Date(at(seconds)));
          const read = totals.read();
          const namespaces = new Set(read.map(({ namespace }) => namespace));
          const errors = read.map(({ namespace, category, gpuSeconds }) =>
            Math.abs(gpuSeconds - (wanted.get(`${namespace} ${category}`) ?? 0)),
          );
          expect(Math.max(0, ...errors)).toBeLessThan(0.1);
          expect(namespaces).toEqual(new Set([...jobs.values()].map(({ metadata: { namespace } }) => namespace)));
        }
      }),
      { numRuns: 100 },
    );
  });

  it('keeps nothing of jobs that are gone', () => {
    const totals = new GoodputTotals(() => NOW);
    for (const uid of ['a', 'b']) totals.record({ ...aJob('n'), metadata: { ...aJob('n').metadata, uid } });
    for (const uid of ['a', 'b', 'never seen']) totals.forget(uid);
    expect([totals.size, totals.read()]).toEqual([0, []]);
  });
});
