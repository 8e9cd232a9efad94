import { TokenBucket } from './token-bucket.ts';

/** The seconds that are left to wait after each of the takes, given as [at second, cost]. */
function waits(takes: readonly (readonly [atS: number, cost: number])[]): readonly number[] {
  const bucket = new TokenBucket({ perSecond: 2, burst: 4 }, 0);
  return takes.map(([atS, cost]) => bucket.take(atS * 1000, cost) / 1000);
}

describe('a bucket of four tokens that is given two a second', () => {
  it.each<[string, readonly (readonly [number, number])[], readonly number[]]>([
    [
      'gives four at once',
      [
        [0, 1],
        [0, 1],
        [0, 1],
        [0, 1],
      ],
      [0, 0, 0, 0],
    ],
    [
      'then says how long to wait',
      [
        [0, 4],
        [0, 1],
      ],
      [0, 0.5],
    ],
    [
      'gives again after that long',
      [
        [0, 4],
        [0.5, 1],
        [0.5, 1],
      ],
      [0, 0, 0.5],
    ],
    [
      'holds no more than four',
      [
        [0, 4],
        [100, 4],
        [100, 1],
      ],
      [0, 0, 0.5],
    ],
    [
      'takes nothing when there is too little',
      [
        [0, 3],
        [0, 2],
        [0, 1],
      ],
      [0, 0.5, 0],
    ],
    [
      'is emptied by whoever asks for more than it holds',
      [
        [0, 9],
        [0, 1],
      ],
      [0, 0.5],
    ],
    [
      'gives nothing for a clock that was set back',
      [
        [10, 4],
        [0, 1],
        [0.5, 1],
      ],
      [0, 0.5, 0],
    ],
  ])('%s', (_sentence, takes, want) => {
    expect(waits(takes)).toEqual(want);
  });
});

describe('a bucket that gives on credit', () => {
  const borrowed = (...atMs: readonly number[]): readonly number[] => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 3 }, 0);
    return atMs.map((nowMs) => bucket.borrow(nowMs));
  };

  it('lets the burst pass at once and makes the next wait their turns', () => {
    expect(borrowed(0, 0, 0, 0, 0)).toEqual([0, 0, 0, 100, 200]);
  });

  it('earns tokens with time, never more than the burst', () => {
    expect(borrowed(0, 60_000, 60_000, 60_000, 60_000)).toEqual([0, 0, 0, 0, 100]);
  });

  it('is paid back before anything is given again', () => {
    expect(borrowed(0, 0, 0, 0, 100, 200)).toEqual([0, 0, 0, 100, 100, 100]);
  });
});

describe('a bucket whose rate changes', () => {
  it('keeps to the one of now, and says what of the burst is used', () => {
    let rate = { perSecond: 1, burst: 4 };
    const bucket = new TokenBucket(() => rate, 0);
    bucket.take(0, 3);
    expect(bucket.used(1_000)).toBe(2);
    rate = { perSecond: 10, burst: 20 };
    expect(bucket.used(1_500)).toBe(13);
    expect(bucket.take(1_500, 8)).toBe(100);
  });
});
