/** Finds the elements of a chunk in its file. */
import { isRowMajor } from '../formats/torch-save-tensor.ts';
import { placeOfPayload, recordNamed } from '../formats/zip/read-archive.ts';
import type { Reading } from '../read/save-files.ts';
import { type SavedChunk, volumeOf } from '../read/saved-state.ts';
import { UnreadableSave } from '../read/unreadable-save.ts';
import { openItem } from '../verify/archives.ts';

/** Where the elements of a chunk are. */
export interface SourcePlace {
  readonly file: string;
  /** Bytes of the file before the first element. */
  readonly at: number;
  /** CRC-32 of the elements; undefined: their writer computed none. */
  readonly crc32: number | undefined;
  /** Elements from one index of each dim to the next. Absent: the last dim moves fastest. */
  readonly stride?: readonly number[];
}

/** A chunk in another order than row by row is turned in memory. */
const MAX_TURNED_BYTES = 64 << 20;

/**
 * Reads the envelope of a chunk: three small reads.
 * @throws UnreadableSave if it is not what the save promises, or if it is too large to be turned; the message continues a sentence that starts with the chunk.
 */
export function* placeOfChunk(
  { key, dtype, itemBytes }: { readonly key: string; readonly dtype: string; readonly itemBytes: number },
  chunk: SavedChunk,
): Reading<SourcePlace> {
  const { item } = chunk;
  if (item === undefined) throw new UnreadableSave('has no place in the save');
  const { tensor, records, isWithoutCrc } = yield* openItem({ key, item, chunk: { sizes: chunk.sizes, dtype } });
  if (tensor === undefined) throw new UnreadableSave('holds something else than a tensor');
  const storage = recordNamed(records, `data/${tensor.storage}`);
  const start = yield* placeOfPayload(item, storage);
  const bytes = itemBytes * volumeOf(tensor.shape);
  const isTurned = !isRowMajor(tensor.shape, tensor.stride);
  if (isTurned && bytes > MAX_TURNED_BYTES)
    throw new UnreadableSave(
      `has ${String(bytes)} bytes in another order than row by row; at most ${String(MAX_TURNED_BYTES)} are put in order here. Save it again with contiguous tensors`,
    );
  return {
    file: item.file,
    at: item.offset + start + tensor.storageOffset * itemBytes,
    crc32: isWithoutCrc || storage.bytes !== bytes ? undefined : storage.crc32,
    ...(isTurned ? { stride: tensor.stride } : {}),
  };
}

/** The elements of a chunk, which are stored with this stride, with the last dim moving fastest. */
export function inRowOrder(
  bytes: Uint8Array,
  {
    sizes,
    stride,
    itemBytes,
  }: { readonly sizes: readonly number[]; readonly stride: readonly number[]; readonly itemBytes: number },
): Uint8Array {
  const turned = new Uint8Array(bytes.length);
  const index = sizes.map(() => 0);
  let from = 0;
  for (let to = 0; to < turned.length; to += itemBytes) {
    for (let byte = 0; byte < itemBytes; byte++) turned[to + byte] = bytes[from * itemBytes + byte] ?? 0;
    for (let dim = sizes.length - 1; dim >= 0; dim--) {
      const next = (index[dim] ?? 0) + 1;
      const isWithin = next < (sizes[dim] ?? 1);
      from += (stride[dim] ?? 0) * (isWithin ? 1 : 1 - next);
      index[dim] = isWithin ? next : 0;
      if (isWithin) break;
    }
  }
  return turned;
}
