import { HOUR_MS, MINUTE_MS } from '@coxswain/units';
import { mayRecord, MOST_BYTES_PER_HOUR, MOST_IN_DAY, MOST_IN_HOUR, type RecordedBefore } from './snapshot-pace.ts';

const AT_EASE: RecordedBefore = { msSinceLast: HOUR_MS, lastBytes: 2_000, inLastHour: 1, inLastDay: 3 };

describe('whether a fabric that changed may be recorded', () => {
  it.each<[string, Partial<RecordedBefore>, boolean]>([
    ['yes, where the last one is old', {}, true],
    ['yes, a minute after a small one', { msSinceLast: MINUTE_MS }, true],
    ['no, sooner', { msSinceLast: MINUTE_MS - 1 }, false],
    ['no, after so many in an hour', { inLastHour: MOST_IN_HOUR }, false],
    ['no, after so many in a day', { inLastDay: MOST_IN_DAY }, false],
    ['no, where the last one is not paid for', { lastBytes: 2 * MOST_BYTES_PER_HOUR, msSinceLast: HOUR_MS }, false],
    ['yes, where it is', { lastBytes: 2 * MOST_BYTES_PER_HOUR, msSinceLast: 2 * HOUR_MS }, true],
  ])('%s', (_sentence, past, want) => {
    expect(mayRecord({ ...AT_EASE, ...past })).toBe(want);
  });

  it('adds at most so many bytes to a week of labels that never rest, however many each one has', () => {
    for (const bytes of [1_000, 40_000, 500_000, 5_000_000]) {
      const takenAtMs: number[] = [];
      const within = (nowMs: number, ms: number): number => takenAtMs.filter((at) => nowMs - at < ms).length;
      for (let nowMs = 0; nowMs < 168 * HOUR_MS; nowMs += MINUTE_MS / 2) {
        const lastMs = takenAtMs.at(-1);
        const past = { lastBytes: bytes, inLastHour: within(nowMs, HOUR_MS), inLastDay: within(nowMs, 24 * HOUR_MS) };
        if (lastMs === undefined || mayRecord({ ...past, msSinceLast: nowMs - lastMs })) takenAtMs.push(nowMs);
      }
      expect(takenAtMs.length).toBeGreaterThan(1);
      expect((takenAtMs.length - 1) * bytes).toBeLessThanOrEqual(168 * MOST_BYTES_PER_HOUR);
      expect(takenAtMs.length).toBeLessThanOrEqual(8 * MOST_IN_DAY);
    }
  });
});
