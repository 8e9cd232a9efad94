/** How does the launcher pass output to the process that keeps it? Each frame has a head of 8 bytes and its bytes. */

/** What a frame has: output of a stream, a sentence of the launcher, or a count of bytes that the launcher dropped. */
export const FRAME_KINDS = ['stdout', 'stderr', 'launcher', 'dropped'] as const;
export type FrameKind = (typeof FRAME_KINDS)[number];

/** Bytes of one writer, which is named by its place in the list of writers. */
export interface LogFrame {
  readonly writer: number;
  readonly kind: FrameKind;
  readonly bytes: Buffer;
}

const HEAD_BYTES = 8;

/** The head of a frame with so many bytes. */
export function frameHead({ writer, kind, bytes }: LogFrame): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt16BE(writer, 0);
  head.writeUInt8(FRAME_KINDS.indexOf(kind), 2);
  head.writeUInt32BE(bytes.length, 4);
  return head;
}

/** Splits the bytes of a pipe into frames. */
export class FrameReader {
  #rest: Buffer[] = [];
  #restBytes = 0;
  #wanted = HEAD_BYTES;

  /** The frames that `chunk` completes. They may share its memory. */
  push(chunk: Buffer): readonly LogFrame[] {
    this.#rest.push(chunk);
    this.#restBytes += chunk.length;
    if (this.#restBytes < this.#wanted) return [];
    const bytes = this.#rest.length === 1 ? chunk : Buffer.concat(this.#rest, this.#restBytes);
    const frames: LogFrame[] = [];
    let at = 0;
    this.#wanted = HEAD_BYTES;
    while (bytes.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + bytes.readUInt32BE(at + 4);
      if (end > bytes.length) {
        this.#wanted = end - at;
        break;
      }
      const kind = FRAME_KINDS[bytes.readUInt8(at + 2)];
      if (kind !== undefined)
        frames.push({ writer: bytes.readUInt16BE(at), kind, bytes: bytes.subarray(at + HEAD_BYTES, end) });
      at = end;
    }
    this.#rest = at === bytes.length ? [] : [Buffer.from(bytes.subarray(at))];
    this.#restBytes = bytes.length - at;
    return frames;
  }
}
