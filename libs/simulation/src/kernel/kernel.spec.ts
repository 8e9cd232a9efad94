import fc from 'fast-check';
import { exponential, gamma, logNormal, logNormalWithin, weibull } from './distributions.ts';
import { EventQueue } from './event-queue.ts';
import { RandomStream } from './random-stream.ts';
import { VirtualTime } from './virtual-time.ts';

const drawn = (count: number, draw: () => number): readonly number[] => Array.from({ length: count }, draw);
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('a stream of random numbers', () => {
  it('is the same for the same seed and name', () => {
    const [one, other] = [new RandomStream(7, 'crash'), new RandomStream(7, 'crash')];
    expect(drawn(50, () => one.uniform())).toEqual(drawn(50, () => other.uniform()));
  });

  it.each([
    ['another seed', 8, 'crash'],
    ['another name', 7, 'hang'],
  ])('is another one for %s', (_what, seed, name) => {
    const [one, other] = [new RandomStream(7, 'crash'), new RandomStream(seed, name)];
    expect(drawn(4, () => one.uniform())).not.toEqual(drawn(4, () => other.uniform()));
  });

  it('stays in [0, 1) and fills tenths evenly, whatever the seed', () => {
    fc.assert(
      fc.property(fc.integer(), fc.string({ maxLength: 20 }), (seed, name) => {
        const stream = new RandomStream(seed, name);
        const tenths = new Map<number, number>();
        for (const value of drawn(2_000, () => stream.uniform())) {
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThan(1);
          tenths.set(Math.floor(value * 10), (tenths.get(Math.floor(value * 10)) ?? 0) + 1);
        }
        // 200 each; 7 standard deviations of 13.4.
        for (const count of tenths.values()) expect(Math.abs(count - 200)).toBeLessThan(94);
        expect(tenths.size).toBe(10);
      }),
      { numRuns: 30 },
    );
  });

  it('has no two seeds of the first thousand that begin alike', () => {
    const firsts = Array.from({ length: 1_000 }, (_, seed) => new RandomStream(seed, 'x').uniform());
    expect(new Set(firsts).size).toBe(1_000);
  });
});

describe('distributions', () => {
  it.each<[string, number, (stream: RandomStream) => number]>([
    ['exponential of mean 3', 3, (stream) => exponential(stream, 3)],
    [
      'Weibull of scale 2 and shape 0.8, whose mean is 2 x Gamma(2.25)',
      2.266,
      (stream) => weibull(stream, { scale: 2, shape: 0.8 }),
    ],
    [
      'log-normal of median 1 and sigma 0.5, whose mean is exp(1/8)',
      1.133,
      (stream) => logNormal(stream, { median: 1, sigma: 0.5 }),
    ],
    ['gamma of shape 0.4 and mean 1', 1, (stream) => gamma(stream, { shape: 0.4, mean: 1 })],
    ['gamma of shape 4 and mean 5', 5, (stream) => gamma(stream, { shape: 4, mean: 5 })],
  ])('%s: its mean', (_name, expected, draw) => {
    const stream = new RandomStream(1, 'mean');
    expect(mean(drawn(60_000, () => draw(stream))) / expected).toBeCloseTo(1, 1.4);
  });

  it.each([
    [0.4, 2.5],
    [4, 0.25],
  ])('gamma of shape %d and mean 1 has variance %d', (shape, variance) => {
    const stream = new RandomStream(2, 'variance');
    const values = drawn(100_000, () => gamma(stream, { shape, mean: 1 }));
    expect(mean(values.map((value) => (value - 1) ** 2)) / variance).toBeCloseTo(1, 1);
  });

  it('a log-normal has half of its values below its median', () => {
    const stream = new RandomStream(3, 'median');
    const below = drawn(20_000, () => logNormal(stream, { median: 60, sigma: 0.7 })).filter((value) => value < 60);
    expect(below.length / 20_000).toBeCloseTo(0.5, 1.5);
  });

  const within = (bounds: readonly [number, number], count: number): readonly number[] => {
    const stream = new RandomStream(4, 'bounds');
    return drawn(count, () => logNormalWithin(stream, { median: 60, sigma: 0.7 }, bounds));
  };

  it('a log-normal within bounds lies within them, as often below its median as above where they are as far from it', () => {
    const values = within([30, 120], 2_000);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(30);
    expect(Math.max(...values)).toBeLessThanOrEqual(120);
    expect(values.filter((value) => value < 60).length / 2_000).toBeCloseTo(0.5, 1);
  });

  it('a log-normal within bounds is the nearer of them where it could never lie between, and any where there are none', () => {
    expect([...within([1e9, 2e9], 3), ...within([0, 1e-9], 3)]).toEqual([1e9, 1e9, 1e9, 1e-9, 1e-9, 1e-9]);
    const free = new RandomStream(4, 'bounds');
    expect(within([0, Infinity], 20)).toEqual(drawn(20, () => logNormal(free, { median: 60, sigma: 0.7 })));
  });
});

describe('events', () => {
  it('come by time, and those of one time in the order in which they were put in', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 200 }), (times) => {
        const queue = new EventQueue<number>();
        times.forEach((atMs, index) => queue.push(atMs, index));
        const popped = times.map(() => queue.pop());
        const expected = times
          .map((atMs, event) => ({ atMs, event }))
          .toSorted((one, other) => one.atMs - other.atMs || one.event - other.event);
        expect(popped).toMatchObject(expected);
        expect(queue.pop()).toBeUndefined();
      }),
    );
  });

  it('of no finite time are refused', () => {
    expect(() => new EventQueue<string>().push(Number.NaN, 'x')).toThrow('not NaN');
  });

  it('happen on a clock that goes from one to the next', () => {
    const time = new VirtualTime();
    const seen: string[] = [];
    time.at(5_000, () => seen.push(`second at ${time.nowMs}`));
    time.at(1_000, () => {
      seen.push(`first at ${time.nowMs}`);
      time.after(500, () => seen.push(`its own at ${time.nowMs}`));
      time.at(0, () => seen.push(`overdue at ${time.nowMs}`));
    });
    time.at(9_000, () => seen.push('too late'));
    time.runUntil(9_000);
    expect(seen).toEqual(['first at 1000', 'overdue at 1000', 'its own at 1500', 'second at 5000']);
    expect(time.nowMs).toBe(9_000);
  });
});
