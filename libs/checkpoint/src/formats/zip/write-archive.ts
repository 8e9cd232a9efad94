/**
 * Writes zip archives as `torch.save` does, in one pass: records that are stored, one large record with a CRC-32 that is known only after it, and the directory
 * (PKWARE APPNOTE 4.3; caffe2/serialize/inline_container.cc).
 */
import { LOCAL_HEADER_BYTES } from './archive.ts';

/** A record that is written whole. */
export interface SmallRecord {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly crc32: number;
}

/** What stands before and behind the payload of the large record. */
export interface ArchiveFrame {
  readonly head: Uint8Array;
  /** `crc32`: of the payload. Its length does not depend on it. */
  readonly tail: (crc32: number) => Uint8Array;
  readonly tailBytes: number;
}

/** What an archive consists of, in this order. */
export interface ArchiveParts {
  /** Folder of all records. */
  readonly folder: string;
  readonly before: readonly SmallRecord[];
  readonly large: { readonly name: string; readonly bytes: number };
  readonly after: readonly SmallRecord[];
}

/** PyTorch aligns payloads so that files can be mapped. */
const ALIGNMENT = 64;
const MAX_32 = 0xffffffff;
/** Sizes and CRC-32 stand behind the payload; names are UTF-8. */
const LATER = 0x0808;
const UTF8_NAMES = 0x0800;
const UTF8 = new TextEncoder();

interface WrittenRecord {
  readonly name: Uint8Array;
  readonly flags: number;
  readonly bytes: number;
  readonly headerAt: number;
  readonly crc32: number;
}

/** The frame of an archive whose large record has a known size. */
export function archiveFrame({ folder, before, large, after }: ArchiveParts): ArchiveFrame {
  const records: WrittenRecord[] = [];
  const head = new Bytes(0);
  for (const record of before) records.push(addSmall(head, folder, record));
  const headerAt = head.length;
  const name = UTF8.encode(`${folder}/${large.name}`);
  const isWide = large.bytes >= MAX_32;
  head.add(localHeader(name, { flags: LATER, bytes: 0, crc32: 0, at: headerAt, isWide }));
  const headBytes = head.length;
  const tail = (crc32: number): Uint8Array => {
    const out = new Bytes(headBytes + large.bytes);
    out.add(descriptor(crc32, large.bytes, isWide));
    const all = [...records, { name, flags: LATER, bytes: large.bytes, headerAt, crc32 }];
    for (const record of after) all.push(addSmall(out, folder, record));
    addDirectory(out, all);
    return out.all;
  };
  return { head: head.all, tail, tailBytes: tail(0).length };
}

function addSmall(out: Bytes, folder: string, { name, bytes, crc32 }: SmallRecord): WrittenRecord {
  const written = { name: UTF8.encode(`${folder}/${name}`), flags: UTF8_NAMES, bytes: bytes.length, crc32 };
  const headerAt = out.at;
  out.add(localHeader(written.name, { ...written, at: headerAt, isWide: false }));
  out.add(bytes);
  return { ...written, headerAt };
}

function localHeader(
  name: Uint8Array,
  { flags, bytes, crc32, at, isWide }: { flags: number; bytes: number; crc32: number; at: number; isWide: boolean },
): Uint8Array {
  const wide = isWide ? 20 : 0;
  // A field 'FB' of padding puts the payload where it belongs, as PyTorch does.
  const used = at + LOCAL_HEADER_BYTES + name.length + wide + 4;
  const padding = (ALIGNMENT - (used % ALIGNMENT)) % ALIGNMENT;
  const header = new Uint8Array(LOCAL_HEADER_BYTES + name.length + wide + 4 + padding);
  const view = new DataView(header.buffer);
  view.setUint32(0, 0x04034b50, true);
  view.setUint16(4, isWide ? 45 : 20, true);
  view.setUint16(6, flags, true);
  view.setUint32(14, crc32, true);
  view.setUint32(18, isWide ? MAX_32 : bytes, true);
  view.setUint32(22, isWide ? MAX_32 : bytes, true);
  view.setUint16(26, name.length, true);
  view.setUint16(28, wide + 4 + padding, true);
  header.set(name, LOCAL_HEADER_BYTES);
  let extra = LOCAL_HEADER_BYTES + name.length;
  if (isWide) {
    view.setUint16(extra, 1, true);
    view.setUint16(extra + 2, 16, true);
    extra += 20;
  }
  view.setUint16(extra, 0x4246, true);
  view.setUint16(extra + 2, padding, true);
  header.fill(0x5a, extra + 4);
  return header;
}

function descriptor(crc32: number, bytes: number, isWide: boolean): Uint8Array {
  const out = new Uint8Array(isWide ? 24 : 16);
  const view = new DataView(out.buffer);
  view.setUint32(0, 0x08074b50, true);
  view.setUint32(4, crc32, true);
  if (isWide) {
    view.setBigUint64(8, BigInt(bytes), true);
    view.setBigUint64(16, BigInt(bytes), true);
  } else {
    view.setUint32(8, bytes, true);
    view.setUint32(12, bytes, true);
  }
  return out;
}

function addDirectory(out: Bytes, records: readonly WrittenRecord[]): void {
  const at = out.at;
  for (const record of records) out.add(directoryRecord(record));
  const bytes = out.at - at;
  if (at >= MAX_32) out.add(wideEnd(records.length, bytes, at));
  const end = new Uint8Array(22);
  const view = new DataView(end.buffer);
  view.setUint32(0, 0x06054b50, true);
  view.setUint16(8, records.length, true);
  view.setUint16(10, records.length, true);
  view.setUint32(12, bytes, true);
  view.setUint32(16, Math.min(at, MAX_32), true);
  out.add(end);
}

function directoryRecord({ name, flags, bytes, headerAt, crc32 }: WrittenRecord): Uint8Array {
  const wide = [...(bytes >= MAX_32 ? [bytes, bytes] : []), ...(headerAt >= MAX_32 ? [headerAt] : [])];
  const extra = wide.length === 0 ? 0 : 4 + 8 * wide.length;
  const record = new Uint8Array(46 + name.length + extra);
  const view = new DataView(record.buffer);
  view.setUint32(0, 0x02014b50, true);
  view.setUint16(6, extra === 0 ? 20 : 45, true);
  view.setUint16(8, flags, true);
  view.setUint32(16, crc32, true);
  view.setUint32(20, Math.min(bytes, MAX_32), true);
  view.setUint32(24, Math.min(bytes, MAX_32), true);
  view.setUint16(28, name.length, true);
  view.setUint16(30, extra, true);
  view.setUint32(42, Math.min(headerAt, MAX_32), true);
  record.set(name, 46);
  if (extra > 0) {
    view.setUint16(46 + name.length, 1, true);
    view.setUint16(48 + name.length, 8 * wide.length, true);
    for (const [index, value] of wide.entries()) view.setBigUint64(50 + name.length + 8 * index, BigInt(value), true);
  }
  return record;
}

/** The zip64 end record and its locator. */
function wideEnd(records: number, bytes: number, at: number): Uint8Array {
  const out = new Uint8Array(56 + 20);
  const view = new DataView(out.buffer);
  view.setUint32(0, 0x06064b50, true);
  view.setBigUint64(4, 44n, true);
  view.setUint16(12, 45, true);
  view.setUint16(14, 45, true);
  view.setBigUint64(24, BigInt(records), true);
  view.setBigUint64(32, BigInt(records), true);
  view.setBigUint64(40, BigInt(bytes), true);
  view.setBigUint64(48, BigInt(at), true);
  view.setUint32(56, 0x07064b50, true);
  view.setBigUint64(64, BigInt(at + bytes), true);
  view.setUint32(72, 1, true);
  return out;
}

/** Bytes that are joined, and where they are in the archive. */
class Bytes {
  readonly #start: number;
  readonly #parts: Uint8Array[] = [];
  length = 0;

  constructor(start: number) {
    this.#start = start;
  }

  get at(): number {
    return this.#start + this.length;
  }

  get all(): Uint8Array {
    const joined = new Uint8Array(this.length);
    let at = 0;
    for (const part of this.#parts) {
      joined.set(part, at);
      at += part.length;
    }
    return joined;
  }

  add(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.length += bytes.length;
  }
}
