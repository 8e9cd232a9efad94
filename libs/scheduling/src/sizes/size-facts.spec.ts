import type { Attempt, JobPlan, TrainingJob } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import {
  changeCostSeconds,
  horizonSeconds,
  medianReturnSeconds,
  reclaimedSecondsAgo,
  speedupBetween,
} from './size-facts.ts';

const NOW = new Date('2026-01-02T00:00:00Z');
const minutesAgo = (minutes: number): string => new Date(NOW.getTime() - minutes * 60_000).toISOString();

/** An attempt on that many GPUs, from so many minutes ago to so many. */
function attempt(gpus: number, from: number, to: number, changes: Partial<Attempt> = {}): Attempt {
  return {
    epoch: 1,
    stage: 'Ended',
    placement: 'gpt-1',
    placementSha256: 'a'.repeat(64),
    layout: aLayout({ dataParallelDegree: gpus }),
    startedAt: minutesAgo(from),
    stoppingAt: minutesAgo(to),
    endedAt: minutesAgo(to),
    ...changes,
  };
}

function running(gpus: number, from: number, changes: Partial<Attempt> = {}): Attempt {
  const { stoppingAt: _stopping, endedAt: _ended, ...rest } = attempt(gpus, from, 0);
  return { ...rest, stage: 'Released', ...changes };
}

const pace = (stepMs: number): Partial<Attempt> => ({
  pace: { steps: 10, inStepsMs: 10 * stepMs, betweenStepsMs: 0, saves: 0 },
});

const firstStepAfter = (from: number, minutes: number): Partial<Attempt> => ({
  firstStep: { step: 1, at: minutesAgo(from - minutes) },
});

function job(attempts: readonly Attempt[], sizes?: JobPlan['sizes']): TrainingJob {
  const plan: JobPlan = {
    chosenBy: 'Planner',
    gpus: 8,
    fabric: '',
    plannerVersion: '1',
    plannedAt: minutesAgo(600),
    ...(sizes === undefined ? {} : { sizes }),
  };
  return { ...aTrainingJob(), status: { epoch: 1, restarts: { total: 0, charged: 0 }, attempts: [...attempts], plan } };
}

const SIZES = [
  { gpus: 8, layout: 'dp8', predictedStepMs: 100 },
  { gpus: 4, layout: 'dp4', predictedStepMs: 160 },
];

describe('the cost of a change of size', () => {
  it.each<[string, readonly Attempt[], number]>([
    ['is half a minute, three minutes and one where nothing was measured', [], 270],
    ['has the median of past starts', [attempt(8, 100, 50, firstStepAfter(100, 5))], 30 + 300 + 60],
    [
      'is the start on another size alone, if one was measured',
      [attempt(8, 100, 50, firstStepAfter(100, 5)), running(4, 40, firstStepAfter(40, 8))],
      30 + 480,
    ],
    [
      'has the measured stall of a save',
      [attempt(8, 100, 50, { pace: { steps: 10, inStepsMs: 1, betweenStepsMs: 20_000, saves: 2 } })],
      10 + 180 + 60,
    ],
  ])('%s', (_what, attempts, seconds) => {
    expect(changeCostSeconds(job(attempts))).toBe(seconds);
  });
});

describe('how much faster a job is on more GPUs', () => {
  it.each<[string, TrainingJob, number]>([
    ['is what was measured on both', job([attempt(8, 99, 90, pace(100)), running(4, 80, pace(180))], SIZES), 1.8],
    ['is what the planner predicted, if one was not measured', job([running(4, 80, pace(180))], SIZES), 1.6],
    ['is their ratio, if nothing is known', job([running(4, 80)]), 2],
  ])('%s', (_what, about, expected) => {
    expect(speedupBetween(about, 4, 8)).toBeCloseTo(expected);
  });
});

describe('how long a job keeps another size', () => {
  const lost = { reason: 'NodeLost' } as const;
  it.each<[string, readonly Attempt[], number | undefined, number]>([
    ['is an hour, if its end is not known', [running(4, 30)], undefined, 60],
    ['is as long as it ran, if that is longer', [running(4, 300)], undefined, 300],
    ['ends with the announced loss of a node', [running(4, 300)], 20, 20],
    ['is the mean time between lost nodes', [attempt(8, 100, 60, lost), running(4, 50)], undefined, 60],
    ['counts moves like lost nodes', [attempt(8, 100, 90, { outcome: 'Moved' }), running(4, 20)], undefined, 30],
    ['does not count ends that it chose', [attempt(4, 100, 90, { outcome: 'Resized' }), running(8, 20)], undefined, 60],
  ])('%s', (_what, attempts, announced, minutes) => {
    const { training: _steps, ...spec } = job([]).spec;
    const about = { ...job(attempts), spec };
    const at = announced === undefined ? undefined : NOW.getTime() + announced * 60_000;
    expect(horizonSeconds(about, NOW, at) / 60).toBeCloseTo(minutes);
  });
});

describe('quota that was taken back', () => {
  const grown = attempt(4, 300, 250, { outcome: 'Resized' });
  const evicted = (from: number, to: number): Attempt =>
    attempt(8, from, to, { outcome: 'Moved', reason: 'QuotaEvicted' });
  it.each<[string, readonly Attempt[], number | undefined]>([
    ['within an hour of a growth counts', [grown, evicted(240, 200)], 200],
    ['later than that does not', [grown, evicted(240, 100)], undefined],
    ['without a growth before does not', [evicted(240, 200)], undefined],
    ['more than a day ago does not', [grown, evicted(1_500, 1_441)], undefined],
  ])('%s', (_what, attempts, minutes) => {
    expect(reclaimedSecondsAgo(job(attempts), NOW)).toBe(minutes === undefined ? undefined : minutes * 60);
  });
});

describe('the time after which nodes return', () => {
  const lost = { reason: 'NodeLost' } as const;
  it.each<[string, readonly Attempt[], number | undefined]>([
    ['is not known of a job that lost none', [attempt(8, 100, 50), running(8, 40)], undefined],
    ['is not known as long as the job runs on fewer', [attempt(8, 100, 50, lost), running(4, 40)], undefined],
    ['is the wait for as many GPUs', [attempt(8, 100, 50, lost), running(8, 40)], 10],
    ['counts the time on fewer GPUs', [attempt(8, 100, 50, lost), attempt(4, 40, 30), running(8, 20)], 30],
    [
      'is the median of several',
      [attempt(8, 100, 90, lost), attempt(8, 85, 80, lost), attempt(8, 60, 50, lost), running(8, 20)],
      20,
    ],
  ])('%s', (_what, attempts, minutes) => {
    expect(medianReturnSeconds(job(attempts))).toBe(minutes === undefined ? undefined : minutes * 60);
  });
});
