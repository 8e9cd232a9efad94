import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import { inPromiseOrder, servedStarts, type ServedStart, type WaitingJob } from './promise-order.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = 100 * HOUR_MS;

interface NamedJob extends WaitingJob {
  readonly name: string;
}

/** A job that has waited for so many hours. */
function waiting(name: string, gpus: number, hours: number, facts: Partial<WaitingJob> = {}): NamedJob {
  return { name, namespace: 'x', gpus, priority: 0, sinceMs: NOW_MS - hours * HOUR_MS, ...facts };
}

function started(gpus: number, hoursAgo: number): ServedStart {
  return { gpus, atMs: NOW_MS - hoursAgo * HOUR_MS };
}

function order(
  jobs: readonly NamedJob[],
  starts: Readonly<Record<string, readonly ServedStart[]>> = {},
): readonly string[] {
  return inPromiseOrder(jobs, { nowMs: NOW_MS, starts: new Map(Object.entries(starts)) }).map(({ name }) => name);
}

describe('nodes are held first for', () => {
  it.each<[string, readonly NamedJob[], readonly string[], Readonly<Record<string, readonly ServedStart[]>>?]>([
    ['the job that waited longest, of equal jobs', [waiting('young', 8, 1), waiting('old', 8, 2)], ['old', 'young']],
    [
      'the larger of two that waited equally long',
      [waiting('small', 8, 1), waiting('large', 512, 1)],
      ['large', 'small'],
    ],
    [
      'the larger of two that have just asked',
      [waiting('small', 8, 0.005), waiting('large', 16, 0)],
      ['large', 'small'],
    ],
    [
      'a gang of 64 times the GPUs once it has waited more than an eighth as long',
      [waiting('small', 8, 8), waiting('later', 512, 0.9), waiting('large', 512, 1.1)],
      ['large', 'small', 'later'],
    ],
    [
      'a job that has waited for more than four days, before any larger one',
      [waiting('large', 1_024, 95), waiting('small', 8, 97)],
      ['small', 'large'],
    ],
    [
      'of two that have waited for more than four days, that of the namespace with fewer turns',
      [waiting('often', 8, 200), waiting('seldom', 8, 120, { namespace: 'y' })],
      ['seldom', 'often'],
      { x: [started(8, 100), started(8, 50), started(8, 0)] },
    ],
    ['a higher priority', [waiting('old', 512, 9), waiting('urgent', 8, 1, { priority: 5 })], ['urgent', 'old']],
    [
      'the job for which nodes are held already',
      [waiting('large', 512, 9), waiting('held', 8, 1, { promisedAt: '2026-01-01T00:00:00Z' })],
      ['held', 'large'],
    ],
    [
      'another namespace than the one whose gang of such a size has just started',
      [waiting('x', 512, 6), waiting('y', 512, 4, { namespace: 'y' })],
      ['y', 'x'],
      { x: [started(256, 0)] },
    ],
    [
      'a namespace whose last starts were of much smaller jobs, as if it had not started any',
      [waiting('x', 512, 6), waiting('y', 512, 4, { namespace: 'y' })],
      ['x', 'y'],
      { x: [started(255, 0)] },
    ],
    [
      'a namespace that was served just now, once its job has waited more than twice as long',
      [waiting('x', 512, 9), waiting('y', 512, 4, { namespace: 'y' })],
      ['x', 'y'],
      { x: [started(512, 0)] },
    ],
  ])('%s', (_sentence, jobs, want, starts = {}) => {
    expect(order(jobs, starts)).toEqual(want);
  });

  it('a job whose weight grows although its namespace starts others', () => {
    const waitsAt = (hours: number): readonly string[] =>
      order([waiting('small', 8, hours), waiting('new', 512, 1, { namespace: 'y' })], { x: [started(512, 0)] });
    expect([waitsAt(1), waitsAt(17)]).toEqual([
      ['new', 'small'],
      ['small', 'new'],
    ]);
  });

  it.each([
    ['of the whole cluster, one after the other', 10_240],
    ['of the same size', 8],
  ])('the only job of a tenant, though another tenant has any number of gangs %s', (_what, gpus) => {
    const everyDay = Array.from({ length: 60 }, (_, day) => started(gpus, 24 * (60 - day - 1)));
    const jobs = [waiting('one-of-many', gpus, 60 * 24, { namespace: 'y' }), waiting('only', 8, 20 * 24)];
    expect(order(jobs, { y: everyDay.slice(-16) })[0]).toBe('only');
  });
});

describe('starts of a namespace', () => {
  const ran = (dataParallelDegree: number, startedAt: string) => {
    const layout = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree };
    const attempts = [anAttempt({ layout, startedAt })];
    const job = aTrainingJob({ status: { epoch: 1, restarts: { total: 0, charged: 0 }, attempts } });
    return { ...job, metadata: { ...job.metadata, namespace: 'x' } };
  };

  it.each<[string, Parameters<typeof servedStarts>, readonly ServedStart[] | undefined]>([
    ['are unknown without attempts', [[aTrainingJob({})]], undefined],
    [
      'are those that status records and those that it does not record yet, the oldest first',
      [
        [ran(16, '2026-01-02T00:00:00Z'), ran(4, '2026-01-01T12:00:00Z')],
        [{ namespace: 'x', gpus: 8, atMs: Date.parse('2026-01-03T00:00:00Z') }],
      ],
      [
        { gpus: 4, atMs: Date.parse('2026-01-01T12:00:00Z') },
        { gpus: 16, atMs: Date.parse('2026-01-02T00:00:00Z') },
        { gpus: 8, atMs: Date.parse('2026-01-03T00:00:00Z') },
      ],
    ],
  ])('%s', (_sentence, from, want) => {
    expect(servedStarts(...from).get('x')).toEqual(want);
  });
});

it('of a thousand starts of one size only the newest are kept', () => {
  const begun = Array.from({ length: 1_000 }, (_, atMs) => ({ namespace: 'x', gpus: 8, atMs }));
  expect(
    servedStarts([], begun)
      .get('x')
      ?.map(({ atMs }) => atMs),
  ).toEqual(Array.from({ length: 16 }, (_, at) => 984 + at));
});
