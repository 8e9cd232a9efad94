/** Reads the directory of an archive, and its records, from a file that holds the archive or more than it. */
import { readBytes, type Reading } from '../../read/save-files.ts';
import type { StoredItem } from '../../read/saved-state.ts';
import { UnreadableSave } from '../../read/unreadable-save.ts';
import {
  type ArchiveRecord,
  directoryPlace,
  LOCAL_HEADER_BYTES,
  payloadAt,
  readDirectory,
  TAIL_BYTES,
} from './archive.ts';

/** More than any archive of PyTorch lists. */
const MAX_DIRECTORY = 64 << 20;

/**
 * The records of an archive: one or two reads at its end.
 * @throws UnreadableSave if it is no archive; the message continues a sentence that starts with the item.
 */
export function* readRecords(archive: StoredItem): Reading<readonly ArchiveRecord[]> {
  const tailBytes = Math.min(TAIL_BYTES, archive.length);
  const tail = yield* readAll(archive, archive.length - tailBytes, tailBytes);
  const place = directoryPlace(tail, archive.length);
  if (place.bytes > MAX_DIRECTORY) throw new UnreadableSave('has a directory larger than any that torch.save writes');
  const inTail = place.at - (archive.length - tailBytes);
  const directory =
    inTail >= 0 ? tail.subarray(inTail, inTail + place.bytes) : yield* readAll(archive, place.at, place.bytes);
  return readDirectory(directory, place);
}

/**
 * The record of this name.
 * @throws UnreadableSave if there is none.
 */
export function recordNamed(records: readonly ArchiveRecord[], name: string): ArchiveRecord {
  const record = records.find((each) => each.name === name);
  if (record === undefined) throw new UnreadableSave(`has no record ${name}`);
  return record;
}

/** All bytes of a record. */
export function* readPayload(archive: StoredItem, record: ArchiveRecord): Reading<Uint8Array> {
  return yield* readAll(archive, yield* placeOfPayload(archive, record), record.bytes);
}

/** Where the payload of a record begins in the archive; reads the record's local header. */
export function* placeOfPayload(archive: StoredItem, record: ArchiveRecord): Reading<number> {
  const at = payloadAt(record, yield* readAll(archive, record.headerAt, LOCAL_HEADER_BYTES));
  if (at + record.bytes > archive.length)
    throw new UnreadableSave(`has a record ${record.name} that ends beyond its end`);
  return at;
}

/**
 * Bytes of an item.
 * @throws UnreadableSave if the item does not have them.
 */
export function* readAll(item: StoredItem, offset: number, length: number): Reading<Uint8Array> {
  if (offset < 0 || offset + length > item.length) throw new UnreadableSave('has a record outside of it');
  const bytes = yield* readBytes(item.file, item.offset + offset, length);
  if (bytes.length !== length)
    throw new UnreadableSave(`ends after ${String(bytes.length)} of ${String(length)} bytes`);
  return bytes;
}
