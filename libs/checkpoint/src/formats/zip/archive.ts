/**
 * Reads zip archives as `torch.save` writes them: records stored one after the other, sizes and CRC-32 in the central directory
 * at the end (PKWARE APPNOTE 4.3; caffe2/serialize/inline_container.cc). Local headers hold no sizes (flag bit 3).
 */
import { UnreadableSave } from '../../read/unreadable-save.ts';

/** A record of an archive. */
export interface ArchiveRecord {
  /** Below the archive's own folder, such as `data/0`. */
  readonly name: string;
  /** CRC-32 of the payload as its writer noted it; 0 if it computed none. */
  readonly crc32: number;
  /** Stored as it is; false: compressed, which PyTorch never does. */
  readonly isStored: boolean;
  readonly bytes: number;
  /** Where its local header begins in the archive. */
  readonly headerAt: number;
}

/** Where the central directory is. */
export interface DirectoryPlace {
  readonly at: number;
  readonly bytes: number;
  readonly records: number;
}

const END = 0x06054b50;
const END_BYTES = 22;
const END_64 = 0x06064b50;
const END_64_BYTES = 56;
const LOCATOR_64 = 0x07064b50;
const LOCATOR_64_BYTES = 20;
const RECORD = 0x02014b50;
const RECORD_BYTES = 46;
const LOCAL = 0x04034b50;
/** Bytes of a local header before its name. */
export const LOCAL_HEADER_BYTES = 30;
/** In a field of 32 bits: the value is in the zip64 field instead. */
const IN_ZIP64 = 0xffffffff;

/** So many bytes at the end of an archive hold the ends of all that PyTorch writes, directory of a tensor included. */
export const TAIL_BYTES = 4096;

/**
 * Where the directory of an archive is. `tail`: its last bytes. `length`: bytes of the whole archive.
 * @throws UnreadableSave if the archive does not end as an archive does.
 */
export function directoryPlace(tail: Uint8Array, length: number): DirectoryPlace {
  const view = viewOf(tail);
  // PyTorch writes no comment, so the end record is the last thing.
  const end = tail.length - END_BYTES;
  if (end < 0 || view.getUint32(end, true) !== END)
    throw new UnreadableSave(
      'does not end as an archive of torch.save does; it is cut, or something else was written over its end',
    );
  const place = has64(view, end)
    ? zip64Place(view, tail, length)
    : {
        records: view.getUint16(end + 10, true),
        bytes: view.getUint32(end + 12, true),
        at: view.getUint32(end + 16, true),
      };
  if (place.at + place.bytes > length - END_BYTES || place.records * RECORD_BYTES > place.bytes) {
    throw new UnreadableSave('has a directory that does not fit into it');
  }
  return place;
}

function has64(view: DataView, end: number): boolean {
  const locator = end - LOCATOR_64_BYTES;
  return locator >= 0 && view.getUint32(locator, true) === LOCATOR_64;
}

function zip64Place(view: DataView, tail: Uint8Array, length: number): DirectoryPlace {
  const locator = tail.length - END_BYTES - LOCATOR_64_BYTES;
  const end64 = wide(view, locator + 8) - (length - tail.length);
  if (end64 < 0 || end64 + END_64_BYTES > locator || view.getUint32(end64, true) !== END_64) {
    throw new UnreadableSave('has a zip64 end record that is not where it says');
  }
  return { records: wide(view, end64 + 32), bytes: wide(view, end64 + 40), at: wide(view, end64 + 48) };
}

/**
 * The records that a directory lists.
 * @throws UnreadableSave if it lists something else.
 */
export function readDirectory(directory: Uint8Array, { records }: DirectoryPlace): readonly ArchiveRecord[] {
  const view = viewOf(directory);
  const found: ArchiveRecord[] = [];
  for (let at = 0; found.length < records;) {
    if (at + RECORD_BYTES > directory.length || view.getUint32(at, true) !== RECORD)
      throw new UnreadableSave('has a directory with a broken record');
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => view.getUint16(at + field, true)) as [
      number,
      number,
      number,
    ];
    const next = at + RECORD_BYTES + nameBytes + extraBytes + commentBytes;
    if (next > directory.length) throw new UnreadableSave('has a directory with a broken record');
    found.push(readRecord(directory, at, nameBytes, extraBytes));
    at = next;
  }
  return found;
}

const UTF8 = new TextDecoder();

function readRecord(directory: Uint8Array, at: number, nameBytes: number, extraBytes: number): ArchiveRecord {
  const view = viewOf(directory);
  const name = UTF8.decode(directory.subarray(at + RECORD_BYTES, at + RECORD_BYTES + nameBytes));
  const sizes = [24, 20, 42].map((field) => view.getUint32(at + field, true)) as [number, number, number];
  const [bytes, stored, headerAt] = withZip64(view, at + RECORD_BYTES + nameBytes, extraBytes, sizes);
  return {
    name: name.slice(name.indexOf('/') + 1),
    crc32: view.getUint32(at + 16, true),
    isStored: view.getUint16(at + 10, true) === 0 && bytes === stored,
    bytes,
    headerAt,
  };
}

/** Fields of 64 bits stand in the order of the fields that they replace (APPNOTE 4.5.3). */
function withZip64(
  view: DataView,
  extra: number,
  extraBytes: number,
  fields: readonly [number, number, number],
): readonly [number, number, number] {
  if (!fields.includes(IN_ZIP64)) return fields;
  for (let at = extra; at + 4 <= extra + extraBytes; at += 4 + view.getUint16(at + 2, true)) {
    if (view.getUint16(at, true) !== 1) continue;
    let next = at + 4;
    const end = Math.min(next + view.getUint16(at + 2, true), extra + extraBytes);
    return fields.map((field) => {
      if (field !== IN_ZIP64) return field;
      if (next + 8 > end) throw new UnreadableSave('has a zip64 field that is cut');
      next += 8;
      return wide(view, next - 8);
    }) as unknown as readonly [number, number, number];
  }
  throw new UnreadableSave('has no zip64 field where it needs one');
}

/**
 * Where the payload of a record begins in the archive. `header`: the {@link LOCAL_HEADER_BYTES} at its `headerAt`.
 * @throws UnreadableSave if they are no local header.
 */
export function payloadAt(record: ArchiveRecord, header: Uint8Array): number {
  const view = viewOf(header);
  if (header.length < LOCAL_HEADER_BYTES || view.getUint32(0, true) !== LOCAL) {
    throw new UnreadableSave(`has no record ${record.name} where its directory says`);
  }
  return record.headerAt + LOCAL_HEADER_BYTES + view.getUint16(26, true) + view.getUint16(28, true);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A field of 64 bits. Beyond 2^53 it is beyond every file. */
function wide(view: DataView, at: number): number {
  return Number(view.getBigUint64(at, true));
}
