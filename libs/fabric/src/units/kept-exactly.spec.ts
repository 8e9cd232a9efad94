import fc from 'fast-check';
import { keptExactly } from './kept-exactly.ts';
import { mostKept } from './most-kept.ts';
import type { GridTerm, UnitGrid } from './unit-grid.ts';

const fourByFour = [
  { stride: 1, degree: 4 },
  { stride: 4, degree: 4 },
];
const ring = (axes: readonly number[], size: number, bytes = 1): GridTerm => ({ axes, size, pattern: 'ring', bytes });

describe('what points keep, every set looked at', () => {
  it.each<[sentence: string, grid: UnitGrid, points: number, want: number]>([
    ['of one ring, a run', { axes: fourByFour, terms: [ring([0, 1], 16)] }, 8, 7],
    ['of one ring, all of it', { axes: fourByFour, terms: [ring([0, 1], 16)] }, 16, 16],
    // A run keeps three pairs of the long ring and none of another; a column is a ring of four.
    ['of rings across it, one or the other', { axes: fourByFour, terms: [ring([0, 1], 16), ring([1], 4)] }, 4, 4],
    // Two runs beside each other: seven pairs, and one of each of four columns.
    ['or some of both', { axes: fourByFour, terms: [ring([0, 1], 16, 10), ring([1], 4)] }, 8, 74],
    ['of two in a ring, both directions', { axes: [{ stride: 1, degree: 2 }], terms: [ring([0], 2)] }, 2, 2],
    [
      'of an all-to-all, every pair',
      { axes: [{ stride: 1, degree: 5 }], terms: [{ axes: [0], size: 5, pattern: 'allToAll', bytes: 2 }] },
      4,
      12,
    ],
  ])('is %s', (_sentence, grid, points, want) => {
    expect(keptExactly(grid)[points]).toBe(want);
  });

  it('is never more than the bound that does not look at sets, and the same where all points are in', () => {
    const aTerm = (axes: readonly number[], size: number): fc.Arbitrary<GridTerm> =>
      fc.record({
        axes: fc.constant(axes),
        size: fc.constant(size),
        pattern: fc.constantFrom('ring', 'chain', 'allToAll'),
        bytes: fc.nat(9),
      });
    const aGrid = fc
      .record({ first: fc.integer({ min: 2, max: 4 }), second: fc.integer({ min: 2, max: 4 }) })
      .chain(({ first, second }): fc.Arbitrary<UnitGrid> =>
        fc.record({
          axes: fc.constant([
            { stride: 1, degree: first },
            { stride: first, degree: second },
          ]),
          terms: fc.tuple(aTerm([0], first), aTerm([1], second), aTerm([0, 1], first * second)),
        }),
      );
    fc.assert(
      fc.property(aGrid, (grid) => {
        const points = grid.axes.reduce((product, { degree }) => product * degree, 1);
        const exact = keptExactly(grid);
        const bound = mostKept(grid, points);
        exact.forEach((bytes, x) => expect(bytes).toBeLessThanOrEqual(bound[x] ?? 0));
        expect(exact[points]).toBe(bound[points]);
      }),
      { numRuns: 100 },
    );
  });
});
