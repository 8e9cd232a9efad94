import { TokenBucket } from './token-bucket.ts';

/** What is left to wait after each of the takes, given as [at second, cost]. */
function waits(takes: readonly (readonly [atS: number, cost: number])[]): readonly number[] {
  const bucket = new TokenBucket({ perSecond: 2, burst: 4 }, 0);
  return takes.map(([atS, cost]) => bucket.take(atS * 1000, cost));
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
