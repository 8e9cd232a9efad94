/** Looks into items: archives of `torch.save`, each a tensor's chunk or an object. */
import type { ArchiveRecord } from '../formats/zip/archive.ts';
import { placeOfPayload, readAll, readPayload, readRecords, recordNamed } from '../formats/zip/read-archive.ts';
import { type ArchivedTensor, isRowMajor, readArchivedTensor } from '../formats/torch-save-tensor.ts';
import { bytesOfDtype } from '../read/dtypes.ts';
import type { Crc32, Reading } from '../read/save-files.ts';
import { type SavedChunk, type StoredItem, volumeOf } from '../read/saved-state.ts';
import { UnreadableSave } from '../read/unreadable-save.ts';

/** What an item has to be. */
export interface ItemPromise {
  readonly key: string;
  readonly item: StoredItem;
  /** Of a chunk of a tensor; absent of an object. */
  readonly chunk?: Pick<SavedChunk, 'sizes'> & { readonly dtype: string };
}

/** An item whose envelope was read. */
export interface OpenItem extends ItemPromise {
  readonly records: readonly ArchiveRecord[];
  /** No record has a CRC, though some have bytes: its writer computed none. */
  readonly isWithoutCrc: boolean;
  /** Of a chunk of a tensor. */
  readonly tensor?: ArchivedTensor;
}

/** A pickle of one tensor is about 200 bytes; an object's can be all of it. */
const MAX_TENSOR_PICKLE = 1 << 20;
const PIECE = 4 << 20;

/**
 * Reads the envelope of an item: two small reads.
 * @throws UnreadableSave if it is not what the save promises; the message continues a sentence that starts with the item.
 */
export function* openItem(promise: ItemPromise): Reading<OpenItem> {
  const { item, chunk } = promise;
  const records = yield* readRecords(item);
  const compressed = records.find(({ isStored }) => !isStored);
  if (compressed !== undefined)
    throw new UnreadableSave(`has a compressed record ${compressed.name}, which torch.save never writes`);
  // Records that share bytes would be read again for each of them.
  if (records.reduce((sum, { bytes }) => sum + bytes, 0) > item.length)
    throw new UnreadableSave('has records that are together larger than it is');
  const tensor = chunk === undefined ? {} : { tensor: yield* checkTensor(item, chunk, records) };
  return {
    ...promise,
    ...tensor,
    records,
    isWithoutCrc: records.some(({ bytes }) => bytes > 0) && records.every(({ crc32 }) => crc32 === 0),
  };
}

function* checkTensor(
  item: StoredItem,
  chunk: NonNullable<ItemPromise['chunk']>,
  records: readonly ArchiveRecord[],
): Reading<ArchivedTensor> {
  const pickle = recordNamed(records, 'data.pkl');
  if (pickle.bytes > MAX_TENSOR_PICKLE) throw new UnreadableSave('has a pickle larger than any of one tensor');
  const tensor = readArchivedTensor(yield* readPayload(item, pickle));
  if (tensor === undefined) throw new UnreadableSave('holds something else than a plain tensor');
  if (tensor.dtype !== chunk.dtype) throw new UnreadableSave(`holds ${tensor.dtype}, and the save says ${chunk.dtype}`);
  if (tensor.shape.join() !== chunk.sizes.join())
    throw new UnreadableSave(
      `holds a tensor of shape [${tensor.shape.join(', ')}], and the save says [${chunk.sizes.join(', ')}]`,
    );
  const elementBytes = bytesOfDtype(tensor.dtype);
  const elements = volumeOf(tensor.shape);
  if (elements === 0 || elementBytes === undefined) return tensor;
  const storage = recordNamed(records, `data/${tensor.storage}`);
  const last = tensor.shape.reduce(
    (at, size, dim) => at + (size - 1) * (tensor.stride[dim] ?? 0),
    tensor.storageOffset,
  );
  if ((last + 1) * elementBytes > storage.bytes)
    throw new UnreadableSave(
      `holds ${String(storage.bytes)} bytes for ${String(elements)} elements of ${tensor.dtype}`,
    );
  if (!isRowMajor(tensor.shape, tensor.stride) && storage.bytes !== elements * elementBytes)
    throw new UnreadableSave('holds a view of a larger storage');
  return tensor;
}

/**
 * Compares all bytes of an item with the CRC-32 that its writer noted.
 * @throws UnreadableSave if one differs.
 */
export function* checkContent(open: OpenItem, crc32: Crc32): Reading<void> {
  for (const record of open.records) {
    if (record.bytes === 0 || (record.crc32 === 0 && open.isWithoutCrc)) continue;
    const start = yield* placeOfPayload(open.item, record);
    let crc = 0;
    for (let at = 0; at < record.bytes; at += PIECE) {
      const piece = yield* readAll(open.item, start + at, Math.min(PIECE, record.bytes - at));
      crc = crc32(piece, crc);
    }
    if (crc !== record.crc32)
      throw new UnreadableSave(
        `has other bytes in ${record.name} than were saved (${describeCrcs(crc, record.crc32)})`,
      );
  }
}

/** Two CRC-32 that differ, for a message. */
export function describeCrcs(found: number, saved: number): string {
  return `CRC-32 ${hex(found)}, saved ${hex(saved)}`;
}

function hex(crc: number): string {
  return (crc >>> 0).toString(16).padStart(8, '0');
}

/**
 * All bytes of an item, compared with the CRC-32 of each record in it.
 * @throws UnreadableSave if one differs.
 */
export function* readCheckedItem(promise: ItemPromise, crc32: Crc32): Reading<Uint8Array> {
  yield* checkContent(yield* openItem(promise), crc32);
  return yield* readAll(promise.item, 0, promise.item.length);
}
