import type { TrainingJob } from '@coxswain/api-types';
import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import { inOrder, servingsOf } from './in-order.ts';

interface Facts {
  readonly namespace?: string;
  readonly askedAt?: string;
  readonly priority?: number;
  readonly promisedAt?: string;
  /** Start of its newest attempt. */
  readonly startedAt?: string;
}

function aJob(name: string, { namespace = 'x', askedAt = '2026-01-01', ...facts }: Facts = {}): TrainingJob {
  const status = {
    epoch: 0,
    restarts: { total: 0, charged: 0 },
    askedAt,
    ...(facts.priority === undefined ? {} : { priority: { value: facts.priority } }),
    ...(facts.promisedAt === undefined
      ? {}
      : { expectedStart: { at: '', restsOn: 'Measured' as const, promisedAt: facts.promisedAt, firstPromised: '' } }),
    ...(facts.startedAt === undefined ? {} : { attempts: [anAttempt({ startedAt: facts.startedAt })] }),
  };
  return aTrainingJob({ metadata: { name, namespace, uid: name }, status });
}

describe('waiting jobs', () => {
  it.each<[string, readonly TrainingJob[], readonly string[], (readonly TrainingJob[])?]>([
    [
      'of a higher priority go first, however young they are',
      [aJob('old'), aJob('urgent', { priority: 10, askedAt: '2026-01-09' }), aJob('low', { priority: -5 })],
      ['urgent', 'old', 'low'],
    ],
    [
      'for which nodes are held go first of their priority, whichever namespace was served',
      [
        aJob('older', { namespace: 'y', askedAt: '2025-01-01' }),
        aJob('head', { promisedAt: '2026-01-02' }),
        aJob('urgent', { namespace: 'y', priority: 1 }),
      ],
      ['urgent', 'head', 'older'],
      [aJob('just started', { startedAt: '2026-01-03' })],
    ],
    [
      'of one priority go in turns of namespaces, the one served longest ago first',
      [aJob('a', { namespace: 'x' }), aJob('b', { namespace: 'y' }), aJob('c', { namespace: 'z' })],
      ['c', 'b', 'a'],
      [
        aJob('ran', { namespace: 'x', startedAt: '2026-01-03' }),
        aJob('ran too', { namespace: 'y', startedAt: '2026-01-02' }),
        aJob('ran before', { namespace: 'x', startedAt: '2026-01-01' }),
      ],
    ],
    [
      'of one namespace go by age',
      [aJob('young', { askedAt: '2026-01-05' }), aJob('old', { askedAt: '2026-01-04' })],
      ['old', 'young'],
    ],
  ])('%s', (_sentence, waiting, want, others = []) => {
    const servings = servingsOf([...waiting, ...others]);
    expect(inOrder(waiting, servings).map(({ metadata }) => metadata.name)).toEqual(want);
    expect(inOrder(waiting.toReversed(), servings).map(({ metadata }) => metadata.name)).toEqual(want);
  });
});

it('a serving that no status records yet is newer than all recorded ones', () => {
  const jobs = [aJob('ran', { namespace: 'x', startedAt: '2026-01-03' }), aJob('waits', { namespace: 'y' })];
  expect([...servingsOf(jobs, ['y'])]).toEqual([
    ['x', 1],
    ['y', 2],
  ]);
});
