/** Are the stored bytes of two saves the same? */
import { DCP_INDEX_FILE } from '../formats/dcp/dcp.ts';
import { type Crc32, readBytes, type Reading, type StoredFile } from '../read/save-files.ts';
import { type SavedChunk, type SavedState, type StoredItem, volumeOf } from '../read/saved-state.ts';

/** Bytes that are held at a time. */
const PART_BYTES = 4 << 20;
/** The reader compares its content. Its bytes differ from save to save, because PyTorch stores a random identifier in it. */

/** CRC-32 of all stored bytes of a save. What is nowhere has none. */
export interface StoredChecksums {
  /** By key; box by box. */
  readonly tensors: ReadonlyMap<string, number>;
  /** By key. */
  readonly objects: ReadonlyMap<string, number>;
  /** By path: the bytes of a file that belong to no tensor and no object, such as all of `scheduler.pt`. */
  readonly files: ReadonlyMap<string, number>;
}

interface Range {
  readonly offset: number;
  readonly length: number;
}

/** Reads each byte of a save, but for bytes that two tensors share. */
export function* storedChecksums(
  { tensors, objects }: SavedState,
  files: readonly StoredFile[],
  crc32: Crc32,
): Reading<StoredChecksums> {
  const sums = {
    tensors: new Map<string, number>(),
    objects: new Map<string, number>(),
    files: new Map<string, number>(),
  };
  const claimed = new Map<string, Range[]>();
  const claim = (item: StoredItem): void => {
    const ranges = claimed.get(item.file);
    if (ranges === undefined) claimed.set(item.file, [item]);
    else ranges.push(item);
  };
  for (const { key, chunks } of tensors) {
    const stored = chunks.toSorted(byOffsets).filter(({ sizes }) => volumeOf(sizes) > 0);
    const items = stored.flatMap(({ item }) => item ?? []);
    for (const item of items) claim(item);
    if (items.length === stored.length) sums.tensors.set(key, yield* checksumOf(items, crc32));
  }
  for (const { key, item } of objects) {
    if (item === undefined) continue;
    claim(item);
    sums.objects.set(key, yield* checksumOf([item], crc32));
  }
  for (const { path, bytes } of files) {
    if (path === DCP_INDEX_FILE) continue;
    const rest = gapsBetween(claimed.get(path) ?? [], bytes).map((gap) => ({ file: path, ...gap }));
    sums.files.set(path, yield* checksumOf(rest, crc32));
  }
  return sums;
}

function* checksumOf(items: readonly (Range & { readonly file: string })[], crc32: Crc32): Reading<number> {
  let sum = 0;
  for (const { file, offset, length } of items)
    for (let read = 0; read < length; read += PART_BYTES)
      sum = crc32(yield* readBytes(file, offset + read, Math.min(PART_BYTES, length - read)), sum);
  return sum;
}

function gapsBetween(ranges: readonly Range[], bytes: number): readonly Range[] {
  const gaps: Range[] = [];
  let end = 0;
  for (const { offset, length } of [...ranges.toSorted((a, b) => a.offset - b.offset), { offset: bytes, length: 0 }]) {
    if (offset > end) gaps.push({ offset: end, length: offset - end });
    end = Math.max(end, offset + length);
  }
  return gaps;
}

/** The order of boxes differs from save to save. */
export function byOffsets({ offsets: one }: SavedChunk, { offsets: other }: SavedChunk): number {
  const dim = one.findIndex((offset, index) => offset !== other[index]);
  return dim < 0 ? 0 : (one[dim] ?? 0) - (other[dim] ?? 0);
}
