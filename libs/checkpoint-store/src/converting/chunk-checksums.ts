/** Compares chunks that are read in parts and in any order with the CRC-32 that their save has. */
import { crc32 } from 'node:zlib';
import { combineCrc32 } from '@coxswain/checkpoint';

interface Part {
  readonly from: number;
  to: number;
  crc: number;
}

/** A chunk with a checksum. */
export interface CheckedChunk {
  /** Of its tensor. */
  readonly key: string;
  readonly file: string;
  /** Bytes of the file before its elements. */
  readonly at: number;
  readonly bytes: number;
  readonly crc32: number;
}

/** A chunk whose bytes are not those that were saved. */
export interface DamagedChunk extends CheckedChunk {
  readonly found: number;
}

/** The parts of chunks that were read so far. */
export class ChunkChecksums {
  readonly #parts = new Map<string, { readonly chunk: CheckedChunk; readonly parts: Part[] }>();

  /** Expects that the chunk is compared in the end, whatever is read of it. */
  expect(chunk: CheckedChunk): void {
    const id = idOf(chunk);
    if (!this.#parts.has(id)) this.#parts.set(id, { chunk, parts: [] });
  }

  /** Notes bytes of a chunk that were read, the first of them at `from`. */
  add(chunk: CheckedChunk, from: number, bytes: Uint8Array): void {
    this.expect(chunk);
    const parts = this.#parts.get(idOf(chunk))?.parts ?? [];
    const to = from + bytes.length;
    const before = parts.find((part) => part.to === from);
    // What was read twice counts once.
    if (parts.some((part) => part.from < to && from < part.to)) return;
    if (before === undefined) parts.push({ from, to, crc: crc32(bytes) });
    else {
      before.crc = crc32(bytes, before.crc);
      before.to = to;
    }
  }

  /** Reads what nothing has read yet of each chunk. Returns the first one that is damaged. */
  async compare(
    read: (chunk: CheckedChunk, from: number, length: number) => Promise<Uint8Array>,
    readBytes: number,
  ): Promise<DamagedChunk | undefined> {
    for (const { chunk, parts } of this.#parts.values()) {
      let [at, crc] = [0, 0];
      const sorted = parts.toSorted((one, other) => one.from - other.from);
      for (const part of [...sorted, { from: chunk.bytes, to: chunk.bytes, crc: 0 }]) {
        while (at < part.from) {
          const bytes = await read(chunk, at, Math.min(readBytes, part.from - at));
          crc = crc32(bytes, crc);
          at += bytes.length;
        }
        crc = combineCrc32(crc, part.crc, part.to - part.from);
        at = part.to;
      }
      if (crc !== chunk.crc32) return { ...chunk, found: crc };
    }
    return undefined;
  }
}

function idOf({ file, at }: CheckedChunk): string {
  return `${String(at)} ${file}`;
}
