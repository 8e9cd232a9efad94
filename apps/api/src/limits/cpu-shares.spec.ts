import { CpuShares } from './cpu-shares.ts';

describe('a share of processor time', () => {
  it.each([
    ['less than a burst', 900, 0],
    ['a burst and a half', 1_500, 5_000],
    ['far more than it may, by work that was not refused', 100_000, 10_000],
  ])('that was used for %s is paid back in at most ten seconds', (_how, usedMs, waitMs) => {
    const shares = new CpuShares(100);
    for (let part = 0; part < 10; part += 1) shares.charge('a', usedMs / 10, 0);
    expect(shares.waitMs('a', 0)).toBe(waitMs);
    expect(shares.waitMs('a', waitMs)).toBe(0);
  });
});
