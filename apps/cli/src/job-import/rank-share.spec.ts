import { cpuShare, memoryShare } from './rank-share.ts';

describe('the share of a rank', () => {
  it.each([
    [96, 8, '12'],
    [10, 8, '1250m'],
    [0.3, 3, '100m'],
    [0.001, 8, undefined],
  ])('%d processors among %d ranks are %s each', (cpus, ranks, want) => {
    expect(cpuShare(cpus, ranks)).toBe(want);
  });

  it.each([
    [64 * 2 ** 30, 8, '8Gi'],
    [64e9, 8, '7629Mi'],
    [2 ** 30, 3, '341Mi'],
    [1024, 1, undefined],
  ])('%d bytes among %d ranks are %s each', (bytes, ranks, want) => {
    expect(memoryShare(bytes, ranks)).toBe(want);
  });
});
