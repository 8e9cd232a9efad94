import { codeOf } from '../testing/code-of.ts';
import { expiryOf, type ExpiryWish } from './token-expiry.ts';

const AT = { now: new Date('2026-01-01T00:00:00Z'), lifetimeDays: 90 };

describe('a token', () => {
  it.each<[string, ExpiryWish, string | null]>([
    [
      'ends after the days of the installation unless something is said',
      { neverExpires: false },
      '2026-04-01T00:00:00.000Z',
    ],
    [
      'ends when it was said',
      { expiresAt: '2026-01-02T00:00:00+01:00', neverExpires: false },
      '2026-01-01T23:00:00.000Z',
    ],
    [
      'may outlive those days when that was said',
      { expiresAt: '2030-01-01T00:00:00Z', neverExpires: false },
      '2030-01-01T00:00:00.000Z',
    ],
    ['never ends only when that was said', { neverExpires: true }, null],
  ])('%s', (_sentence, wish, want) => {
    expect(expiryOf(wish, AT)?.toISOString() ?? null).toBe(want);
  });

  it.each<[string, ExpiryWish]>([
    ['now', { expiresAt: '2026-01-01T00:00:00Z', neverExpires: false }],
    ['in the past', { expiresAt: '2025-12-31T00:00:00Z', neverExpires: false }],
    ['at what is no time', { expiresAt: 'tomorrow', neverExpires: false }],
    ['both then and never', { expiresAt: '2030-01-01T00:00:00Z', neverExpires: true }],
  ])('cannot end %s', (_sentence, wish) => {
    expect(codeOf(() => expiryOf(wish, AT))).toBe('INVALID_REQUEST');
  });
});
