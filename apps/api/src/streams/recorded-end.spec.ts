import { anAttempt } from '@coxswain/api-types/testing';
import type { Attempt } from '@coxswain/api-types';
import { codeOf } from '../testing/code-of.ts';
import { recordedEnd } from './recorded-end.ts';

const endedAt = '2026-01-02T00:00:00Z';
const failed: Partial<Attempt> = {
  epoch: 2,
  stage: 'Ended',
  endedAt,
  outcome: 'Failed',
  reason: 'EngineFailed',
  message: 'Rank 1 on node-a exited with 1\nTraceback',
};

describe('what is left of the log of a rank whose pod is gone', () => {
  it.each<[string, Partial<Attempt>, string]>([
    [
      'is how its attempt failed, with the last lines',
      failed,
      '# The pod of rank 3 of attempt 2 is gone, and its log with it: the attempt ended at 2026-01-02T00:00:00Z (Failed, EngineFailed), and pods are removed then. A kept log is not shown: nothing of it is kept. What it recorded of its end:\n# Of run 2:\nRank 1 on node-a exited with 1\nTraceback\n',
    ],
    [
      'is how each of its runs failed',
      {
        ...failed,
        incarnation: 2,
        incarnations: [
          { incarnation: 1, endedAt, reason: 'EngineFailed', message: 'Rank 0 was killed', charged: true },
        ],
      },
      '# Of run 2.1:\nRank 0 was killed\n# Of run 2.2:\nRank 1 on node-a exited with 1\nTraceback\n',
    ],
    ['steers no terminal', { ...failed, message: '\u001b]0;title\u0007\u001b[31mred\u001b[0m' }, '# Of run 2:\nred\n'],
    ['is bounded', { ...failed, message: 'x'.repeat(20_000) }, `${'x'.repeat(8_191)}…\n`],
  ])('%s', (_sentence, attempt, want) => {
    const text = recordedEnd(anAttempt(attempt), 3, 'nothing of it is kept');
    expect(text.slice(-want.length)).toBe(want);
    expect(text).toMatch(/^# The pod of rank 3 of attempt 2 is gone/);
  });

  it.each<[string, Partial<Attempt>, RegExp]>([
    [
      'of an attempt that nothing failed of',
      { ...failed, outcome: 'Suspended', reason: 'SuspendRequested', message: undefined },
      /ended at 2026-01-02T00:00:00Z \(Suspended, SuspendRequested\), and pods are removed then. A kept log is not shown: nothing of it is kept; it recorded no last lines/,
    ],
    [
      'of an attempt that has not ended',
      { epoch: 2, stage: 'Creating' },
      /is not there; the attempt has not ended \(Creating\)/,
    ],
  ])('is nothing %s, which is said', (_which, attempt, want) => {
    const { message: _none, ...rest } = anAttempt(attempt);
    const of = attempt.message === undefined ? rest : anAttempt(attempt);
    expect(codeOf(() => recordedEnd(of, 3, 'nothing of it is kept'))).toBe('NOT_FOUND');
    expect(() => recordedEnd(of, 3, 'nothing of it is kept')).toThrow(want);
  });
});
