import fc from 'fast-check';
import { errorStatistics, quantile } from './error-statistics.ts';

const against100 = (predictions: readonly number[]) => predictions.map((predicted) => ({ predicted, measured: 100 }));

describe('errors of predictions', () => {
  it('of nothing are unknown', () => {
    expect(errorStatistics([])).toEqual({
      n: 0,
      medianAbsPct: null,
      meanAbsPct: null,
      biasPct: null,
      p90AbsPct: null,
      within10: null,
      within20: null,
    });
  });

  it('are relative to what was measured, with the limits counted as within', () => {
    const statistics = errorStatistics(against100([110, 80, 100, 150]));
    expect(statistics).toMatchObject({
      n: 4,
      medianAbsPct: 15,
      meanAbsPct: 20,
      biasPct: 10,
      within10: 0.5,
      within20: 0.75,
    });
    expect(statistics.p90AbsPct).toBeCloseTo(41);
  });

  it.each([
    [[3], 0.9, 3],
    [[1, 2, 3], 0.5, 2],
    [[4, 1], 0.5, 2.5],
    [[0, 10], 0.9, 9],
    [[], 0.5, null],
  ])('quantile of %j at %d is %s', (values, share, expected) => {
    expect(quantile(values, share)).toBe(expected);
  });

  it('do not depend on the order of rows', () => {
    const positive = fc.double({ min: 0.01, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.record({ predicted: positive, measured: positive }), { minLength: 1 }), (comparisons) => {
        const there = errorStatistics(comparisons);
        const back = errorStatistics([...comparisons].reverse());
        expect(back.medianAbsPct).toBe(there.medianAbsPct);
        expect(back.p90AbsPct).toBe(there.p90AbsPct);
        expect(back.within10).toBe(there.within10);
      }),
    );
  });
});
