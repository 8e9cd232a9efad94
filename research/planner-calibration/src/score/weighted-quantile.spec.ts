import fc from 'fast-check';
import { quantile } from './error-statistics.ts';
import { weightedQuantiles, type Weighted } from './weighted-quantile.ts';

const of = (...values: readonly (readonly [value: number, weight: number])[]): readonly Weighted[] =>
  values.map(([value, weight]) => ({ value, weight }));

describe('the value that a share of the weight lies below', () => {
  it.each<[string, readonly Weighted[], number, number]>([
    ['is the only one', of([7, 2]), 0.1, 7],
    ['is the middle of two that weigh alike', of([3, 1], [1, 1]), 0.5, 2],
    ['is nearer to the heavier', of([1, 3], [2, 1]), 0.5, 1.25],
    ['is the smallest below its middle', of([1, 1], [2, 1]), 0.1, 1],
    ['is the smallest where less than nothing is asked for', of([1, 1], [2, 1]), -3, 1],
    ['is the largest above its middle', of([1, 1], [2, 1]), 0.9, 2],
    ['is the largest where more than all is asked for', of([1, 1], [2, 1]), 1.4, 2],
    ['is found among equals', of([4, 1], [4, 5], [4, 1]), 0.6, 4],
  ])('%s', (_sentence, values, share, want) => {
    expect(weightedQuantiles(values)(share)).toBeCloseTo(want, 12);
  });

  it('is refused of nothing', () => {
    expect(() => weightedQuantiles([])).toThrow(RangeError);
  });

  const weighted = fc.record({
    value: fc.double({ min: -1e3, max: 1e3, noNaN: true }),
    weight: fc.double({ min: 1e-3, max: 1e3, noNaN: true }),
  });
  const several = fc.array(weighted, { minLength: 1, maxLength: 20 });

  it('grows with the share and stays among the values, in whatever order they come', () => {
    fc.assert(
      fc.property(
        several,
        fc.double({ min: -1, max: 2, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (values, share, more) => {
          const low = weightedQuantiles(values)(share);
          const all = values.map(({ value }) => value);
          expect(weightedQuantiles(values)(share + more)).toBeGreaterThanOrEqual(low - 1e-9);
          expect(low).toBeGreaterThanOrEqual(Math.min(...all));
          expect(low).toBeLessThanOrEqual(Math.max(...all));
        },
      ),
    );
  });

  it('is the median where weights are equal', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -99, max: 99 }), { minLength: 1, maxLength: 20 }), (values) => {
        expect(weightedQuantiles(values.map((value) => ({ value, weight: 2 })))(0.5)).toBeCloseTo(
          quantile(values, 0.5) ?? NaN,
          9,
        );
      }),
    );
  });
});
