import { TokenBuckets } from './token-buckets.ts';

const RATE = { perSecond: 1, burst: 10 };

describe('buckets of many parties', () => {
  it('are each party’s own', () => {
    const buckets = new TokenBuckets(RATE);
    expect(buckets.take('a', 0, 10)).toBe(0);
    expect(buckets.take('a', 0, 2)).toBe(2_000);
    expect(buckets.take('b', 0, 2)).toBe(0);
    expect([buckets.used('a', 0), buckets.used('b', 0), buckets.used('c', 0)]).toEqual([10, 2, 0]);
  });

  it('are kept no longer than they are less than full', () => {
    const buckets = new TokenBuckets(RATE);
    for (let second = 0; second < 10_000; second += 1) buckets.take(`party-${second}`, second * 1_000, 5);
    expect(buckets.size).toBeLessThanOrEqual(64);
  });

  it('of parties in debt are kept, however many come', () => {
    const buckets = new TokenBuckets(RATE);
    for (let index = 0; index < 100; index += 1) buckets.borrow(`debtor-${index}`, 0, 100);
    for (let index = 0; index < 10_000; index += 1) buckets.take(`party-${index}`, 60_000 + index * 1_000, 1);
    buckets.borrow('debtor', 10_060_000, 20);
    for (let index = 0; index < 1_000; index += 1) buckets.take(`late-${index}`, 10_060_000, 0);
    expect(buckets.debtMs('debtor', 10_060_000)).toBe(10_000);
    expect(buckets.size).toBeLessThan(1_200);
  });
});
