import { accuracyOf, errorPctOf } from './accuracy.ts';

describe('how far predictions were off', () => {
  it.each([
    [110, 100, 10],
    [80, 100, -20],
    [100, 300, -66.7],
  ])('%d ms predicted and %d ms measured is an error of %d %%', (predictedMs, measuredMs, want) => {
    expect(errorPctOf(predictedMs, measuredMs)).toBe(want);
  });

  it.each([
    [
      'nothing at all',
      [],
      { n: 0, medianAbsPct: null, p90AbsPct: null, biasPct: null, within10: null, within20: null },
    ],
    ['one', [-5], { n: 1, medianAbsPct: 5, p90AbsPct: 5, biasPct: -5, within10: 100, within20: 100 }],
    [
      'ten, one of them far off',
      [1, -1, 2, -2, 3, -3, 12, -12, 15, 85],
      { n: 10, medianAbsPct: 3, p90AbsPct: 15, biasPct: 10, within10: 60, within20: 90 },
    ],
  ])('is told of %s', (_what, errorsPct, want) => {
    expect(accuracyOf(errorsPct)).toEqual(want);
  });
});
