import fc from 'fast-check';
import { nearestWord } from './nearest-word.ts';
import { divisorsOf, nearest, nearestDivisor, nearestMultiple } from './nearest.ts';

const size = fc.integer({ min: 1, max: 5000 });

describe('divisors', () => {
  it.each<[number, readonly number[]]>([
    [1, [1]],
    [7, [1, 7]],
    [36, [1, 2, 3, 4, 6, 9, 12, 18, 36]],
  ])('of %d', (whole, want) => {
    expect(divisorsOf(whole)).toEqual(want);
  });

  it('are those numbers up to the whole that divide it, ascending', () => {
    fc.assert(
      fc.property(size, (whole) => {
        const plain = Array.from({ length: whole }, (_, index) => index + 1).filter((one) => whole % one === 0);
        expect(divisorsOf(whole)).toEqual(plain);
      }),
    );
  });
});

describe('the nearest', () => {
  it.each<[string, number | undefined, number | undefined]>([
    ['of equally near candidates is the smaller', nearest([8, 4], 6), 4],
    ['of no candidates is none', nearest([], 6), undefined],
    ['divisor may be above', nearestDivisor(12, 5), 4],
    ['divisor of a prime is 1 or itself', nearestDivisor(13, 9), 13],
    ['multiple may be below', nearestMultiple(8, 11), 8],
    ['multiple is at least one step', nearestMultiple(8, 1), 8],
    ['of equally near multiples is the smaller', nearestMultiple(8, 12), 8],
  ])('%s', (_sentence, got, want) => {
    expect(got).toBe(want);
  });

  it('multiple is one, and none is nearer', () => {
    fc.assert(
      fc.property(size, size, (step, wanted) => {
        const found = nearestMultiple(step, wanted);
        expect(found % step).toBe(0);
        for (const other of [found - step, found + step].filter((one) => one >= step)) {
          expect(Math.abs(found - wanted)).toBeLessThanOrEqual(Math.abs(other - wanted));
        }
      }),
    );
  });
});

describe('the word that is meant', () => {
  const known = ['selective', 'full', 'none', 'budget'];
  it.each<[string, string | undefined]>([
    ['selectve', 'selective'],
    ['FULL', 'full'],
    ['nne', 'none'],
    ['bugdet', 'budget'],
    ['interleaved', undefined],
    ['sel', 'selective'],
    ['no', undefined],
    ['', undefined],
  ])('by "%s" is %s', (wanted, want) => {
    expect(nearestWord(known, wanted)).toBe(want);
  });

  it('is looked for in a text of any length in the time of a short one', () => {
    const words = Array.from({ length: 1000 }, (_, index) => `--some-option-of-an-engine-${index}`);
    const processorTime = (letters: number): number => {
      const before = process.cpuUsage();
      expect(nearestWord(words, 'x'.repeat(letters))).toBeUndefined();
      return process.cpuUsage(before).user;
    };
    const best = (letters: number): number => Math.min(...Array.from({ length: 3 }, () => processorTime(letters)));
    // Compared letter by letter, the long text takes 300 times as long as one of the length of the words.
    expect(best(10_000)).toBeLessThan(10 * best(30));
  });
});
