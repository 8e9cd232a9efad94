import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import type { SavedState } from '../read/saved-state.ts';
import { describeCoverage } from '../verify/coverage.ts';
import { divideRows } from './divide.ts';
import { divideByLayout } from './layouts.ts';
import { plannedState, planReshard, pieceBytesFor, type ReshardPlan, sharesOf } from './plan-reshard.ts';

/** A save of matrices with so many rows, of 16 bytes each, and of one object. */
function saveOf(rows: readonly number[], ranks: number): SavedState {
  return {
    tensors: rows.map((size, index) => ({
      key: `layers.${String(index)}.w1.weight`,
      dtype: 'float32',
      shape: [size, 4],
      chunks: divideRows(ranks)({ key: '', shape: [size, 4] }).map(({ rank, offsets, sizes }) => ({
        offsets,
        sizes,
        item: { file: `__${String(rank)}_0.distcp`, offset: 0, length: 1 },
      })),
    })),
    objects: [{ key: 'loader', item: { file: '__0_0.distcp', offset: 0, length: 100 } }],
  };
}

/** The bytes of each file of a plan, in the order in which they are written, without gap or overlap. */
function requireTiled({ pieces }: ReshardPlan): void {
  const ends = new Map<string, number>();
  for (const { tensors, objects } of pieces) {
    const objectItems = objects.map(({ object, ...place }) => ({ ...place, length: object.item?.length ?? 0 }));
    for (const { file, offset, length } of [...objectItems, ...tensors.flatMap(({ targets }) => targets)]) {
      expect(offset).toBe(ends.get(file) ?? 0);
      ends.set(file, offset + length);
    }
  }
  expect(ends).toEqual(new Map(pieces.flatMap(({ files }) => [...files])));
}

describe('a plan', () => {
  it('reads each source chunk once, and fills each file from start to end with chunks that cover each tensor once', () => {
    const degree = fc.integer({ min: 1, max: 4 });
    fc.assert(
      fc.property(
        fc.record({ tensor: degree, pipeline: degree, shard: degree }),
        fc.array(fc.nat({ max: 40 }), { maxLength: 12 }),
        fc.record({ ranks: degree, pieceBytes: fc.integer({ min: 1, max: 2000 }) }),
        (layout, rows, { ranks, pieceBytes }) => {
          const save = saveOf(rows, ranks);
          const keys = save.tensors.map(({ key }) => key);
          const plan = planReshard(save, { divide: divideByLayout(layout, keys), pieceBytes, crc32 });
          requireTiled(plan);
          const moved = plan.pieces.flatMap(({ tensors }) => tensors);
          expect(new Map(moved.map(({ key, sources }) => [key, sources]))).toEqual(
            new Map(save.tensors.map(({ key, chunks }) => [key, chunks])),
          );
          expect(moved).toHaveLength(save.tensors.length);
          const planned = plannedState(plan);
          expect(planned.tensors.map((tensor) => describeCoverage(tensor))).toEqual(rows.map(() => undefined));
          expect(planned.objects).toHaveLength(1);
        },
      ),
    );
  });

  it('makes the tensors of a piece again as they were', () => {
    const { pieces } = planReshard(saveOf([8, 8, 8, 8], 2), { divide: divideRows(3), pieceBytes: 128, crc32 });
    const first = pieces.map(({ tensors }) => tensors);
    expect(first.length).toBeGreaterThan(1);
    expect(pieces.map(({ tensors }) => tensors)).toEqual(first);
  });

  it('gives each piece to one of the workers, each of them within 5 % of the mean', () => {
    // Small tensors between large ones, as norms are between matrices: 48 GiB, as pieces of 1 GiB.
    const rows = Array.from({ length: 1200 }, (_, index) => (index % 3 === 0 ? 8_000_000 : 1000 + index));
    const plan = planReshard(saveOf(rows, 1), { divide: divideRows(1), pieceBytes: 1 << 27, crc32 });
    for (const workers of [1, 2, 3, 4, 6, 8, 12, 16, 24]) {
      const shares = sharesOf(plan, workers);
      expect(new Set(shares.flat()).size).toBe(plan.pieces.length);
      const largest = Math.max(...shares.map((share) => share.reduce((sum, { bytes }) => sum + bytes, 0)));
      expect((largest * workers) / plan.bytes).toBeLessThan(1.05);
    }
  });

  it('refuses a FlatParameter of FSDP1, whose padding depends on the number of ranks', () => {
    const { tensors } = saveOf([8], 2);
    const flat = { tensors: tensors.map((tensor) => ({ ...tensor, key: 'layers.0._flat_param' })), objects: [] };
    expect(() => planReshard(flat, { divide: divideRows(3), pieceBytes: 128, crc32 })).toThrow(
      /^Tensor layers\.0\._flat_param is a FlatParameter of FSDP1: .* save it with StateDictType\.SHARDED_STATE_DICT/,
    );
  });

  it.each([
    [1, 2 ** 31],
    [768, 48 * 2 ** 30],
  ])('for %i ranks has pieces of %i bytes, so that files of ranks are not tiny', (ranks, bytes) => {
    expect(pieceBytesFor(ranks)).toBe(bytes);
  });
});
