/** Are the stored bytes of each tensor the same in two saves? */
import { type Crc32, readBytes, type Reading } from '../read/save-files.ts';
import type { SavedChunk, SavedState } from '../read/saved-state.ts';

/** Bytes that are held at a time. */
const PART_BYTES = 4 << 20;

/** CRC-32 of the stored bytes of each tensor, box by box. A tensor with a part that is nowhere is left out. */
export function* storedChecksums({ tensors }: SavedState, crc32: Crc32): Reading<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  for (const { key, chunks } of tensors) {
    let sum = 0;
    let isWhole = true;
    for (const { item } of chunks.toSorted(byOffsets)) {
      if (item === undefined) isWhole = false;
      else
        for (let read = 0; read < item.length; read += PART_BYTES)
          sum = crc32(yield* readBytes(item.file, item.offset + read, Math.min(PART_BYTES, item.length - read)), sum);
    }
    if (isWhole) sums.set(key, sum);
  }
  return sums;
}

/** The order of boxes differs from save to save. */
export function byOffsets({ offsets: one }: SavedChunk, { offsets: other }: SavedChunk): number {
  const dim = one.findIndex((offset, index) => offset !== other[index]);
  return dim < 0 ? 0 : (one[dim] ?? 0) - (other[dim] ?? 0);
}
