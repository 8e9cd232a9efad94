import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import { type Claim, inPromiseOrder, servedStarts, type ServedStart } from './promise-order.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = 100 * HOUR_MS;

interface NamedClaim extends Claim {
  readonly name: string;
}

/** A job that has waited for so many hours. */
function claim(name: string, gpus: number, hours: number, facts: Partial<Claim> = {}): NamedClaim {
  return { name, namespace: 'x', gpus, priority: 0, sinceMs: NOW_MS - hours * HOUR_MS, ...facts };
}

function started(gpus: number, hoursAgo: number): ServedStart {
  return { gpus, atMs: NOW_MS - hoursAgo * HOUR_MS };
}

function order(
  jobs: readonly NamedClaim[],
  starts: Readonly<Record<string, readonly ServedStart[]>> = {},
): readonly string[] {
  return inPromiseOrder(jobs, { nowMs: NOW_MS, starts: new Map(Object.entries(starts)) }).map(({ name }) => name);
}

describe('nodes are held first for', () => {
  it.each<[string, readonly NamedClaim[], readonly string[], Readonly<Record<string, readonly ServedStart[]>>?]>([
    ['the job that waited longest, of equal jobs', [claim('young', 8, 1), claim('old', 8, 2)], ['old', 'young']],
    ['the larger of two that waited equally long', [claim('small', 8, 1), claim('large', 512, 1)], ['large', 'small']],
    ['the larger of two that have just asked', [claim('small', 8, 0.01), claim('large', 16, 0)], ['large', 'small']],
    [
      'a gang of 64 times the GPUs once it has waited more than an eighth as long',
      [claim('small', 8, 8), claim('later', 512, 0.9), claim('large', 512, 1.1)],
      ['large', 'small', 'later'],
    ],
    ['a higher priority', [claim('old', 512, 9), claim('urgent', 8, 1, { priority: 5 })], ['urgent', 'old']],
    [
      'the job for which nodes are held already',
      [claim('large', 512, 9), claim('held', 8, 1, { promisedAt: '2026-01-01T00:00:00Z' })],
      ['held', 'large'],
    ],
    [
      'another namespace than the one whose gang of such a size has just started',
      [claim('x', 512, 6), claim('y', 512, 4, { namespace: 'y' })],
      ['y', 'x'],
      { x: [started(256, 0)] },
    ],
    [
      'a namespace whose last starts were of much smaller jobs, as if it had not started any',
      [claim('x', 512, 6), claim('y', 512, 4, { namespace: 'y' })],
      ['x', 'y'],
      { x: [started(255, 0)] },
    ],
    [
      'a namespace that was served just now, once its job has waited more than twice as long',
      [claim('x', 512, 9), claim('y', 512, 4, { namespace: 'y' })],
      ['x', 'y'],
      { x: [started(512, 0)] },
    ],
  ])('%s', (_sentence, jobs, want, starts = {}) => {
    expect(order(jobs, starts)).toEqual(want);
  });

  it('no new job again and again: the weight of a job grows although its namespace starts others', () => {
    const waitsAt = (hours: number): readonly string[] =>
      order([claim('small', 8, hours), claim('new', 512, 1, { namespace: 'y' })], { x: [started(512, 0)] });
    expect([waitsAt(1), waitsAt(17)]).toEqual([
      ['new', 'small'],
      ['small', 'new'],
    ]);
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
      'are left out if they are smaller and older than another',
      [[ran(8, '2026-01-01T00:00:00Z'), ran(16, '2026-01-02T00:00:00Z'), ran(4, '2026-01-01T12:00:00Z')]],
      [{ gpus: 16, atMs: Date.parse('2026-01-02T00:00:00Z') }],
    ],
    [
      'have the newest and the largest, and those that no status records yet',
      [[ran(16, '2026-01-01T00:00:00Z')], [{ namespace: 'x', gpus: 8, atMs: Date.parse('2026-01-03T00:00:00Z') }]],
      [
        { gpus: 16, atMs: Date.parse('2026-01-01T00:00:00Z') },
        { gpus: 8, atMs: Date.parse('2026-01-03T00:00:00Z') },
      ],
    ],
  ])('%s', (_sentence, from, want) => {
    expect(servedStarts(...from).get('x')).toEqual(want);
  });
});
