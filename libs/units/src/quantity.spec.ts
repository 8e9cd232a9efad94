import { quantityOf } from './quantity.ts';

describe('quantities of Kubernetes', () => {
  it.each([
    ['8', 8],
    ['500m', 0.5],
    ['64Gi', 64 * 2 ** 30],
    ['64G', 64e9],
    ['1e3', 1000],
    ['.5', 0.5],
    ['2k', 2000],
    ['many', undefined],
    ['-1', undefined],
    ['1 Gi', undefined],
    ['', undefined],
  ])('%j is %s', (text, want) => {
    expect(quantityOf(text)).toBe(want);
  });
});
