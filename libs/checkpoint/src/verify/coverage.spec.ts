import { type Box } from '../read/saved-state.ts';
import { allComparisons, describeCoverage } from './coverage.ts';

const box = (offsets: readonly number[], sizes: readonly number[]): Box => ({ offsets, sizes });
const check = (shape: readonly number[], ...boxes: readonly Box[]): string | undefined =>
  describeCoverage({ key: 'w', dtype: 'float32', shape, chunks: boxes.map((each) => ({ ...each, item: undefined })) });

describe('chunks are a tensor', () => {
  it.each<[string, string | undefined]>([
    ['if one is all of it', check([4, 6], box([0, 0], [4, 6]))],
    [
      'if they are a grid',
      check([4, 6], box([0, 0], [2, 3]), box([0, 3], [2, 3]), box([2, 0], [2, 3]), box([2, 3], [2, 3])),
    ],
    ['if they are uneven', check([7], box([0], [4]), box([4], [3]))],
    ['in any order of ranks', check([98], box([0], [25]), box([49], [25]), box([25], [24]), box([74], [24]))],
    [
      'if they fit like bricks',
      check([2, 4], box([0, 0], [1, 3]), box([0, 3], [1, 1]), box([1, 0], [1, 1]), box([1, 1], [1, 3])),
    ],
    ['if some of them hold nothing', check([4], box([0], [4]), box([4], [0]))],
    ['without dims', check([], box([], []))],
  ])('%s', (_what, found) => {
    expect(found).toBeUndefined();
  });
});

describe('many tensors of chunks that were made to be compared', () => {
  it('share the comparisons of one save', () => {
    const count = 2000;
    const stairs = Array.from({ length: count }, (_, at) => ({ ...box([at, at], [count, 1]), item: undefined }));
    const tensor = { key: 'w', dtype: 'float32', shape: [2 * count, count], chunks: stairs };
    const comparisons = allComparisons();
    const found = Array.from({ length: 50 }, () => describeCoverage(tensor, comparisons));
    expect([found[0], found.at(-1)]).toEqual([
      expect.stringMatching(/lacks/) as string,
      expect.stringMatching(/overlap too much to be compared/) as string,
    ]);
    expect(comparisons.left).toBeGreaterThan(-count * 50);
  });
});

describe('chunks are not a tensor', () => {
  it.each<[string, RegExp, string | undefined]>([
    ['with a hole', /lacks 2 of its 4 elements/, check([4], box([0], [2]))],
    ['with the same box twice', /overlap/, check([4], box([0], [2]), box([0], [2]))],
    [
      'with boxes that overlap and a hole of the same size',
      /at \[0\] and \[1\] that overlap/,
      check([4], box([0], [2]), box([1], [2])),
    ],
    [
      'with bricks that overlap',
      /overlap/,
      check([2, 4], box([0, 0], [1, 3]), box([0, 2], [2, 2]), box([1, 0], [1, 2])),
    ],
    ['with a box outside', /outside of its shape \[4\]/, check([4], box([2], [4]))],
    ['without any', /lacks 4 of its 4/, check([4])],
    ['without dims and twice', /overlap/, check([], box([], []), box([], []))],
  ])('%s', (_what, reason, found) => {
    expect(found).toMatch(reason);
  });
});
