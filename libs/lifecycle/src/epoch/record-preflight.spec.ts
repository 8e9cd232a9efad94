import type { Attempt } from '@coxswain/api-types';
import type { Facts } from '../observation/facts.ts';
import type { ObservedPreflight } from '../observation/observed.ts';
import type { JobRecord } from '../record/job-record.ts';
import { anAttempt } from '../testing/jobs.ts';
import { recordPreflight } from './record-preflight.ts';

const preflight: ObservedPreflight = {
  epoch: 2,
  outcome: 'Passed',
  tookMs: 900,
  notes: ['a note'],
  fingerprint: { image: 'trainer:1', torch: '2.9', driver: '570.1' },
  named: { nodes: [], message: '' },
};

function attemptAfter(attempts: readonly Attempt[], seen: ObservedPreflight = preflight): Attempt | undefined {
  const record = { attempts, epoch: attempts.at(-1)?.epoch } as JobRecord;
  return recordPreflight(record, { observed: { preflight: seen } } as Facts).attempts.at(-1);
}

const ended = (more: Partial<Attempt>): Attempt => anAttempt({ epoch: 1, stage: 'Ended', outcome: 'Failed', ...more });

describe('what came of a preflight is recorded', () => {
  it('with its attempt, and what that runs on', () => {
    const { preflight: recorded, fingerprint } = attemptAfter([anAttempt({ epoch: 2 })]) ?? {};
    expect(recorded).toEqual({ outcome: 'Passed', tookMs: 900, notes: ['a note'] });
    expect(fingerprint).toEqual(preflight.fingerprint);
  });

  it('with what has changed since the last attempt of which that is known', () => {
    const before = ended({ fingerprint: { image: 'trainer:1', torch: '2.8', nccl: '2.27' } });
    const attempt = attemptAfter([before, anAttempt({ epoch: 2 })]);
    expect(attempt?.preflight?.notes).toEqual(['torch is 2.9, and was 2.8 in attempt 1', 'a note']);
  });

  it('in notes that are never cut through a character, whoever named the image', () => {
    const image = (tail: string) => `${'x'.repeat(79)}\u{1F6A2}${tail}`;
    const before = ended({ fingerprint: { image: image('1') } });
    const attempt = attemptAfter([before, anAttempt({ epoch: 2 })], {
      ...preflight,
      fingerprint: { image: image('2') },
    });
    const [note = ''] = attempt?.preflight?.notes ?? [];
    expect(note).toMatch(/^image is x{79}…, and was x{79}… in attempt 1$/);
    expect(note.isWellFormed()).toBe(true);
  });

  it('once', () => {
    const first: Attempt['preflight'] = { outcome: 'Skipped', tookMs: 1, notes: [] };
    expect(attemptAfter([anAttempt({ epoch: 2, preflight: first })])?.preflight).toEqual(first);
  });

  it.each<[string, readonly Attempt[]]>([
    ['of another epoch', [anAttempt({ epoch: 3 })]],
    ['of one that has ended', [ended({ epoch: 2 })]],
  ])('not with an attempt %s', (_sentence, attempts) => {
    expect(attemptAfter(attempts)).toEqual(attempts.at(-1));
  });
});
