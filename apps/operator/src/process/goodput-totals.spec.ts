import { GOODPUT_CATEGORIES, type TrainingJob } from '@coxswain/api-types';
import { anAttempt, aTrainingJob } from '@coxswain/api-types/testing';
import { goodputTotals, OTHER_NAMESPACES } from './goodput-totals.ts';

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

const sharesOf = (jobs: readonly TrainingJob[], namespace: string): Record<string, number> =>
  Object.fromEntries(
    goodputTotals(jobs, NOW)
      .filter((one) => one.namespace === namespace && one.gpuSeconds > 0)
      .map(({ category, gpuSeconds }) => [category, gpuSeconds]),
  );

describe('GPU time of all jobs', () => {
  const ofOne = { initialisation: 80, productive: 400, infrastructureRecovery: 80 };

  it('is summed by namespace and category', () => {
    const jobs = [aJob('a'), aJob('b'), aJob('b')];
    expect(sharesOf(jobs, 'a')).toEqual(ofOne);
    expect(sharesOf(jobs, 'b')).toEqual({ initialisation: 160, productive: 800, infrastructureRecovery: 160 });
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
