import { UnreadableSave } from '../../read/unreadable-save.ts';

const UTF8 = new TextDecoder('utf-8');

/** Reads the arguments of opcodes, in their order. A read beyond the end throws. */
export class PickleBytes {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get at(): number {
    return this.#at;
  }

  skip(bytes: number): void {
    this.#take(bytes);
  }

  uint8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  uint16(): number {
    return this.#view.getUint16(this.#take(2), true);
  }

  uint32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  int32(): number {
    return this.#view.getInt32(this.#take(4), true);
  }

  /** A length in 8 bytes. One beyond 2^53 is beyond the end too. */
  uint64(): number {
    return Number(this.#view.getBigUint64(this.#take(8), true));
  }

  /** The float of BINFLOAT, which is big-endian. */
  float64(): number {
    return this.#view.getFloat64(this.#take(8), false);
  }

  bytes(length: number): Uint8Array {
    const start = this.#take(length);
    return this.#bytes.subarray(start, start + length);
  }

  text(length: number): string {
    return UTF8.decode(this.bytes(length));
  }

  /** The text up to the next line break, without it. */
  line(): string {
    const end = this.#bytes.indexOf(0x0a, this.#at);
    if (end < 0) throw new UnreadableSave('it ends within a line');
    const text = UTF8.decode(this.#bytes.subarray(this.#at, end));
    this.#at = end + 1;
    return text;
  }

  #take(length: number): number {
    const start = this.#at;
    if (length > this.#bytes.length - start) {
      throw new UnreadableSave(
        `byte ${String(start)} wants ${String(length)} more bytes, and it has only ${String(this.#bytes.length - start)}`,
      );
    }
    this.#at = start + length;
    return start;
  }
}
