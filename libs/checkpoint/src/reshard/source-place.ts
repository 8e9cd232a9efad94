/** Finds the elements of a chunk in its file. */
import { isRowMajor } from '../formats/torch-save-tensor.ts';
import { placeOfPayload, recordNamed } from '../formats/zip/read-archive.ts';
import type { Reading } from '../read/save-files.ts';
import type { SavedChunk } from '../read/saved-state.ts';
import { UnreadableSave } from '../read/unreadable-save.ts';
import { openItem } from '../verify/archives.ts';

/** Where the elements of a chunk are, the last dim moving fastest. */
export interface SourcePlace {
  readonly file: string;
  /** Bytes of the file before the first element. */
  readonly at: number;
  /** CRC-32 of the elements; undefined: their writer computed none. */
  readonly crc32: number | undefined;
}

/**
 * Reads the envelope of a chunk: three small reads.
 * @throws UnreadableSave if it is not what the save promises, or if its elements are in another order.
 */
export function* placeOfChunk(
  { key, dtype, itemBytes }: { readonly key: string; readonly dtype: string; readonly itemBytes: number },
  chunk: SavedChunk,
): Reading<SourcePlace> {
  const { item } = chunk;
  if (item === undefined) throw new UnreadableSave(`The save does not say where a chunk of tensor ${key} is`);
  const { tensor, records, isWithoutCrc } = yield* openItem({ key, item, chunk: { sizes: chunk.sizes, dtype } });
  if (tensor === undefined || !isRowMajor(tensor.shape, tensor.stride))
    throw new UnreadableSave(
      `${key} in ${item.file} is stored in another order than row by row, which is not divided anew here. Save it again with contiguous tensors`,
    );
  const storage = recordNamed(records, `data/${tensor.storage}`);
  const start = yield* placeOfPayload(item, storage);
  const isAll = storage.bytes === itemBytes * tensor.shape.reduce((product, size) => product * size, 1);
  return {
    file: item.file,
    at: item.offset + start + tensor.storageOffset * itemBytes,
    crc32: isWithoutCrc || !isAll ? undefined : storage.crc32,
  };
}
