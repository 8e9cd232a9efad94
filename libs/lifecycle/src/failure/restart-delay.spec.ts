import fc from 'fast-check';
import { restartDelayMs } from './restart-delay.ts';

describe('the pause of a failure policy', () => {
  it.each([
    [1, 0],
    [2, 0],
    [3, 30],
    [4, 120],
    [5, 480],
    [6, 900],
    [60, 900],
  ])('after %d failures in a row is about %d s', (failures, seconds) => {
    fc.assert(
      fc.property(fc.string(), (seed) => {
        const pause = restartDelayMs(failures, seed) / 1_000;
        expect(pause).toBeGreaterThanOrEqual(0.8 * seconds);
        expect(pause).toBeLessThanOrEqual(Math.min(900, 1.2 * seconds));
      }),
    );
  });

  it('is the same for the same job, and differs between jobs', () => {
    const pauses = Array.from({ length: 200 }, (_, index) => restartDelayMs(5, `job-${index}`));
    expect(restartDelayMs(5, 'job-7')).toBe(pauses[7]);
    expect(new Set(pauses).size).toBeGreaterThan(190);
    const mean = pauses.reduce((sum, pause) => sum + pause, 0) / pauses.length;
    expect(mean).toBeGreaterThan(0.95 * 480_000);
    expect(mean).toBeLessThan(1.05 * 480_000);
  });
});
