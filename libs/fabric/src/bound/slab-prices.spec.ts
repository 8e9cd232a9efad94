import fc from 'fast-check';
import { dearestCut } from './slab-prices.ts';

type CutCase = [
  sentence: string,
  asked: { readonly prices: number[][]; readonly largest: number[] },
  cut: { readonly price: number; readonly pieces: number[][] },
];

describe('the dearest cut of a slab', () => {
  it.each<CutCase>([
    [
      'is whole where it fits and wholes are dear',
      { prices: [[0, 0, 0, 0, 9]], largest: [4] },
      { price: 9, pieces: [[0, 0, 0, 0, 1]] },
    ],
    [
      'has no piece larger than there is room for',
      { prices: [[0, 1, 3, 0, 9]], largest: [2] },
      { price: 6, pieces: [[0, 0, 2, 0, 0]] },
    ],
    [
      'has whatever pieces it must, if all cost less than nothing',
      { prices: [[0, -1, -3, -9, -9]], largest: [3] },
      { price: -4, pieces: [[0, 4, 0, 0, 0]] },
    ],
    [
      'cuts pieces of the farther level again at the nearer one',
      {
        prices: [
          [0, 0, 2, 0, 0],
          [0, 0, 0, 5, 0],
        ],
        largest: [2, 3],
      },
      {
        price: 7,
        pieces: [
          [0, 2, 1, 0, 0],
          [0, 1, 0, 1, 0],
        ],
      },
    ],
  ])('%s', (_sentence, { prices, largest }, { price, pieces }) => {
    const cut = dearestCut(
      prices.map((ofLevel) => Float64Array.from(ofLevel)),
      largest,
      4,
    );
    expect(cut.price).toBe(price);
    expect(cut.pieces.map((ofLevel) => [...ofLevel])).toEqual(pieces);
  });

  it('is the dearest of all, and costs what its pieces do', () => {
    const prices = fc.array(fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 6, maxLength: 6 }), {
      minLength: 2,
      maxLength: 2,
    });
    fc.assert(
      fc.property(prices, fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }), (drawn, one, other) => {
        const ofSize = drawn.map((ofLevel) => Float64Array.from([0, ...ofLevel]));
        const largest = [Math.min(one, other), Math.max(one, other)];
        const cut = dearestCut(ofSize, largest, 6);
        const all = cutsOf(6, largest[1] ?? 1).map((far) =>
          far.reduce((sum, piece) => {
            const near = cutsOf(piece, largest[0] ?? 1).map((sizes) => priceOf(ofSize[0], sizes));
            return sum + (ofSize[1]?.[piece] ?? 0) + Math.max(...near);
          }, 0),
        );
        expect(cut.price).toBe(Math.max(...all));
        const paid = cut.pieces.map((counts, level) =>
          counts.reduce((sum, count, size) => sum + count * (ofSize[level]?.[size] ?? 0), 0),
        );
        expect(paid.reduce((sum, ofLevel) => sum + ofLevel, 0)).toBe(cut.price);
      }),
    );
  });
});

function priceOf(prices: Float64Array | undefined, sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + (prices?.[size] ?? 0), 0);
}

/** Every way to write `units` as a sum of at most `largest`, the order counted. */
function cutsOf(units: number, largest: number): readonly (readonly number[])[] {
  if (units === 0) return [[]];
  return Array.from({ length: Math.min(units, largest) }, (_, at) => at + 1).flatMap((size) =>
    cutsOf(units - size, largest).map((rest) => [size, ...rest]),
  );
}
