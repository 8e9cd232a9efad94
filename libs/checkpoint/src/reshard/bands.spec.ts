import fc from 'fast-check';
import { type Box, volumeOf } from '../read/saved-state.ts';
import { bandsOf, type MovedTensor } from './bands.ts';
import { copyPart, intersect, placeIn } from './boxes.ts';
import { divideByGrid } from './divide.ts';

/** The chunks of a tensor whose elements are 0, 1, 2 and so on. */
function chunksOf({ shape, itemBytes }: MovedTensor, boxes: readonly Box[]): Uint8Array[] {
  const whole = { offsets: shape.map(() => 0), sizes: [...shape] };
  const bytes = Uint8Array.from({ length: volumeOf(shape) * itemBytes }, (_, at) => at % 251);
  return boxes.map((box) => {
    const chunk = new Uint8Array(volumeOf(box.sizes) * itemBytes);
    if (chunk.length > 0) copyPart({ ...whole, bytes }, { ...box, bytes: chunk }, box, itemBytes);
    return chunk;
  });
}

/** Moves elements as the bands say, and checks that each chunk is read and written from start to end. */
function move(tensor: MovedTensor, maxBytes: number): { readonly moved: Uint8Array[]; readonly largest: number } {
  const sources = chunksOf(tensor, tensor.sources);
  const moved = tensor.targets.map(({ sizes }) => new Uint8Array(volumeOf(sizes) * tensor.itemBytes));
  const at = { read: sources.map(() => 0), written: moved.map(() => 0) };
  let largest = 0;
  for (const { reads, writes } of bandsOf(tensor, maxBytes)) {
    largest = Math.max(
      largest,
      reads.reduce((sum, { length }) => sum + length, 0),
    );
    for (const { chunk, offset, length } of reads) {
      expect(offset).toBe(at.read[chunk]);
      at.read[chunk] = offset + length;
    }
    for (const { chunk, box, offset, length } of writes) {
      expect(offset).toBe(at.written[chunk]);
      at.written[chunk] = offset + length;
      const bytes = moved[chunk]?.subarray(offset, offset + length) ?? new Uint8Array();
      for (const read of reads) {
        const part = intersect(read.box, box);
        const from = sources[read.chunk]?.subarray(read.offset, read.offset + read.length) ?? new Uint8Array();
        if (part !== undefined) copyPart({ ...read.box, bytes: from }, { ...box, bytes }, part, tensor.itemBytes);
      }
    }
  }
  expect(at.read).toEqual(sources.map(({ length }) => length));
  expect(at.written).toEqual(moved.map(({ length }) => length));
  return { moved, largest };
}

const shapes = fc.array(fc.nat({ max: 9 }), { maxLength: 4 });
const grids = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 4, maxLength: 4 });
const divided = (shape: readonly number[], grid: readonly number[]) =>
  divideByGrid(() => Object.fromEntries(grid.entries()))({ key: 'w', shape });

describe('the bands of a tensor', () => {
  it('move each element to its place, each byte read and written once and in order, within the limit', () => {
    fc.assert(
      fc.property(
        fc.record({ shape: shapes, from: grids, to: grids, maxBytes: fc.integer({ min: 1, max: 400 }) }),
        fc.constantFrom(1, 2, 4),
        ({ shape, from, to, maxBytes }, itemBytes) => {
          const tensor = { shape, itemBytes, sources: divided(shape, from), targets: divided(shape, to) };
          const { moved, largest } = move(tensor, maxBytes);
          expect(moved).toEqual(chunksOf(tensor, tensor.targets));
          expect(largest).toBeLessThanOrEqual(Math.max(maxBytes, itemBytes));
        },
      ),
    );
  });
});

describe('a layout', () => {
  it.each<[string, readonly number[], readonly number[], readonly (readonly [number, string])[]]>([
    [
      'divides rows as torch.chunk does',
      [7, 2],
      [3],
      [
        [0, '0,0 3,2'],
        [1, '3,0 3,2'],
        [2, '6,0 1,2'],
      ],
    ],
    [
      'can leave ranks without rows, as torch.chunk does',
      [6],
      [4],
      [
        [0, '0 2'],
        [1, '2 2'],
        [2, '4 2'],
      ],
    ],
    ['gives one rank a scalar', [], [4], [[0, ' ']]],
    ['gives one rank a tensor without elements', [0, 4], [2], [[0, '0,0 0,4']]],
    [
      'counts ranks with the last dim of the grid first',
      [4, 4],
      [2, 2],
      [
        [0, '0,0 2,2'],
        [1, '0,2 2,2'],
        [2, '2,0 2,2'],
        [3, '2,2 2,2'],
      ],
    ],
  ])('%s', (_what, shape, grid, boxes) => {
    const found = divideByGrid(() => Object.fromEntries(grid.entries()))({ key: 'w', shape });
    expect(found.map(({ rank, offsets, sizes }) => [rank, `${offsets.join()} ${sizes.join()}`])).toEqual(boxes);
  });

  it('covers each tensor once', () => {
    fc.assert(
      fc.property(shapes, grids, (shape, grid) => {
        const seen = new Uint8Array(volumeOf(shape));
        const whole = { offsets: shape.map(() => 0), sizes: shape };
        for (const box of divided(shape, grid)) {
          const ones = new Uint8Array(volumeOf(box.sizes)).fill(1);
          if (ones.length > 0) copyPart({ ...box, bytes: ones }, { ...whole, bytes: seen }, box, 1);
        }
        expect(seen.every((count) => count === 1)).toBe(true);
        expect(
          placeIn(
            whole,
            shape.map(() => 0),
          ),
        ).toBe(0);
      }),
    );
  });
});
