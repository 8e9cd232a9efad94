import fc from 'fast-check';
import { bestSaveIntervalMs } from './save-interval.ts';

const HOUR_MS = 3_600_000;

describe('the best time between saves', () => {
  it.each([
    [3.09, 0.6, 1.9],
    [3.09, 30, 14],
    [1.8, 5, 4.2],
    [12.3, 0.05, 1.1],
    [0.3, 0.6, 0.6],
  ])(
    'with a failure each %d h and stalls of %d s: %d min by Young, which Daly agrees with',
    (hours, stallS, minutes) => {
      const found = bestSaveIntervalMs({ stallMs: stallS * 1000, meanTimeToFailureMs: hours * HOUR_MS });
      expect(Math.abs(found / 60_000 / minutes - 1)).toBeLessThan(0.1);
    },
  );

  it('is the time between failures itself where a save takes twice as long', () => {
    expect(bestSaveIntervalMs({ stallMs: 2 * HOUR_MS, meanTimeToFailureMs: HOUR_MS })).toBe(HOUR_MS);
  });

  it('loses less than a third more or less of itself would, to first order of stall and lost work', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 10, max: 60_000, noNaN: true }),
        fc.double({ min: 1, max: 100, noNaN: true }),
        (stallMs, hours) => {
          const meanTimeToFailureMs = hours * HOUR_MS;
          const best = bestSaveIntervalMs({ stallMs, meanTimeToFailureMs });
          // Exact for failures at random: time that training of `interval` takes, over itself.
          const cost = (interval: number): number =>
            (meanTimeToFailureMs * Math.expm1((interval + stallMs) / meanTimeToFailureMs)) / interval;
          expect(cost(best)).toBeLessThanOrEqual(cost(best * 1.3));
          expect(cost(best)).toBeLessThanOrEqual(cost(best * 0.7));
        },
      ),
    );
  });

  it.each([
    ['stallMs', { stallMs: 0, meanTimeToFailureMs: 1 }],
    ['meanTimeToFailureMs', { stallMs: 1, meanTimeToFailureMs: Number.NaN }],
  ])('is refused without a sensible %s, by name', (name, given) => {
    expect(() => bestSaveIntervalMs(given)).toThrow(name);
  });
});
