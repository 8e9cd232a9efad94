import type { Attempt, Incident } from '@coxswain/api-types';
import { anAttempt } from '../testing/jobs.ts';
import { countEnds, endCauseOf } from './recorded-ends.ts';

const SLOW: Incident = {
  id: '1.1-slowRank-r3',
  kind: 'SlowRank',
  epoch: 1,
  incarnation: 1,
  noticedAt: '2026-01-01T00:00:00Z',
  message: 'Rank 3 is slow.',
  gpus: 4,
  action: 'RestartedElsewhere',
};

describe('the cause of an unrequested end', () => {
  it.each<[string, Partial<Attempt>, readonly Incident[], string | undefined]>([
    ['of a gang with a blamed rank is a hang', { outcome: 'Failed', reason: 'Condemned' }, [], 'hang'],
    ['of one whose incident is a slow rank is that', { outcome: 'Failed', reason: 'Condemned' }, [SLOW], 'slow'],
    [
      'of one whose slow rank was only reported is a hang',
      { outcome: 'Failed', reason: 'Condemned' },
      [{ ...SLOW, action: 'Advised' }],
      'hang',
    ],
    ['of a later attempt is another one', { epoch: 2, outcome: 'Failed', reason: 'Condemned' }, [SLOW], 'hang'],
    ['of a gang that hangs is a hang', { outcome: 'Failed', reason: 'Hung' }, [SLOW], 'hang'],
    ['of a move is a leaving node', { outcome: 'Moved', reason: 'NodeLeaving' }, [], 'leaving'],
    ['of a gang that made room is room: no user asked for it', { outcome: 'Moved', reason: 'MadeRoom' }, [], 'room'],
    ['of growth is growth', { outcome: 'Resized', reason: 'GpusFree' }, [], 'growth'],
    ['of a failure of its own is none', { outcome: 'Failed', reason: 'EngineFailed' }, [SLOW], undefined],
    ['of a gang that runs is none', {}, [SLOW], undefined],
  ])('%s', (_what, attempt, incidents, cause) => {
    expect(endCauseOf(anAttempt(attempt), { incidents: [...incidents] })).toBe(cause);
  });

  it('tells slow ranks from hangs when the ends of a day are counted', () => {
    const ended = { outcome: 'Failed', reason: 'Condemned' } as const;
    const attempts = [
      anAttempt({ ...ended, epoch: 1, endedAt: '2026-01-01T00:00:00Z' }),
      anAttempt({ ...ended, epoch: 2, endedAt: '2026-01-01T00:10:00Z' }),
      anAttempt({ ...ended, epoch: 3, endedAt: '2025-12-30T00:00:00Z' }),
      anAttempt({ ...ended, epoch: 4, stoppingAt: '2026-01-01T00:20:00Z' }),
    ];
    const status = { attempts, incidents: [1, 3, 4].map((epoch) => ({ ...SLOW, epoch })) };
    const sinceMs = Date.parse('2025-12-31T12:00:00Z');
    expect(countEnds(status, { cause: 'slow', sinceMs })).toBe(2);
    expect(countEnds(status, { cause: 'hang', sinceMs })).toBe(1);
  });
});
