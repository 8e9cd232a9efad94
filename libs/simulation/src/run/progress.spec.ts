import fc from 'fast-check';
import { assertCloses, type LossBudget, NOTHING_SPENT } from './loss-budget.ts';
import { Progress } from './progress.ts';

const POLICY = { intervalMs: 120_000, stallMs: 600 };

describe('training between two events', () => {
  it.each([
    ['less than an interval', 60_000, { trainedMs: 60_000, savedMs: 0, stall: 0 }],
    ['an interval and half a save', 120_300, { trainedMs: 120_000, savedMs: 0, stall: 300 }],
    ['an interval and its save', 120_600, { trainedMs: 120_000, savedMs: 120_000, stall: 600 }],
    ['two and a half', 301_200, { trainedMs: 300_000, savedMs: 240_000, stall: 1_200 }],
  ])('of %s: what is trained, saved and stalled', (_what, wallMs, expected) => {
    const progress = new Progress(POLICY);
    const spent = progress.train(wallMs, 1);
    const { trainedMs, savedMs } = progress;
    expect({ trainedMs, savedMs, stall: spent.checkpointStall }).toEqual(expected);
  });

  it('is the same in one piece as in many', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 500_000 }), { minLength: 1, maxLength: 30 }), (pieces) => {
        const [whole, parts] = [new Progress(POLICY), new Progress(POLICY)];
        whole.train(
          pieces.reduce((sum, piece) => sum + piece, 0),
          1,
        );
        for (const piece of pieces) parts.train(piece, 1);
        expect(parts.trainedMs).toBeCloseTo(whole.trainedMs, 3);
        expect(parts.savedMs).toBeCloseTo(whole.savedMs, 3);
      }),
    );
  });

  it('loses what was not saved when it begins at the last save, and nothing twice', () => {
    const progress = new Progress(POLICY);
    progress.train(301_200, 1);
    expect(progress.resumeAt(progress.savedMs)).toBe(60_000);
    expect(progress.resumeAt(progress.savedMs)).toBe(0);
    expect(progress.trainedMs).toBe(240_000);
  });

  it('is slower where a node is, and says how much', () => {
    const spent = new Progress(POLICY).train(110_000, 1.1);
    expect(spent.productive).toBeCloseTo(100_000);
    expect(spent.straggler).toBeCloseTo(10_000);
  });
});

describe('the loss budget', () => {
  it.each<[string, Partial<LossBudget>, string]>([
    ['a moment in no part', { productive: 900, detect: 99 }, 'does not close'],
    ['a moment in two parts', { productive: 900, detect: 101 }, 'does not close'],
    ['less than nothing', { productive: 1_100, detect: -100 }, '-100 ms of detect'],
  ])('is refused with %s', (_what, spent, words) => {
    expect(() => assertCloses({ ...NOTHING_SPENT, ...spent }, 1_000)).toThrow(words);
  });
});
