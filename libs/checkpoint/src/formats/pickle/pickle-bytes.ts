const UTF8 = new TextDecoder('utf-8');

/** Texts of metadata are names of tensors and files, which repeat; a longer one hardly does. */
const MAX_INTERNED = 256;
const INTERNED = 4096;

/**
 * Reads the arguments of opcodes, in their order. Nothing here checks that they are there: `readMemoUses` has read them all before, and
 * refuses a pickle that ends within one.
 */
export class PickleBytes {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  /** Texts that were read before, by a hash, each with where it stands. */
  readonly #texts = Array.from<string | undefined>({ length: INTERNED });
  readonly #starts = new Float64Array(INTERNED);
  readonly #lengths = new Uint16Array(INTERNED);
  /** Where the next one begins. */
  at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  skip(bytes: number): void {
    this.at += bytes;
  }

  /** Passes this opcode. False: the next one is another, and stays. */
  take(op: number): boolean {
    if (this.#bytes[this.at] !== op) return false;
    this.at++;
    return true;
  }

  uint8(): number {
    return this.#bytes[this.at++] ?? 0;
  }

  uint16(): number {
    this.at += 2;
    return (this.#bytes[this.at - 2] ?? 0) | ((this.#bytes[this.at - 1] ?? 0) << 8);
  }

  uint32(): number {
    return this.int32() >>> 0;
  }

  int32(): number {
    const at = this.at;
    this.at = at + 4;
    return (
      (this.#bytes[at] ?? 0) |
      ((this.#bytes[at + 1] ?? 0) << 8) |
      ((this.#bytes[at + 2] ?? 0) << 16) |
      ((this.#bytes[at + 3] ?? 0) << 24)
    );
  }

  /** A length in 8 bytes. One beyond 2^53 is beyond the end too. */
  uint64(): number {
    this.at += 8;
    return Number(this.#view.getBigUint64(this.at - 8, true));
  }

  /** The float of BINFLOAT, which is big-endian. */
  float64(): number {
    this.at += 8;
    return this.#view.getFloat64(this.at - 8, false);
  }

  bytes(length: number): Uint8Array {
    const start = this.at;
    this.at = start + length;
    return this.#bytes.subarray(start, start + length);
  }

  /** Text that stands a million times is decoded once, and is in memory once. */
  text(length: number): string {
    if (length > MAX_INTERNED) return UTF8.decode(this.bytes(length));
    const start = this.at;
    this.at = start + length;
    const slot = this.#slotOf(start, length);
    const known = this.#texts[slot];
    if (known !== undefined && this.#lengths[slot] === length && this.#isSame(this.#starts[slot] ?? 0, start, length))
      return known;
    const text = UTF8.decode(this.#bytes.subarray(start, start + length));
    this.#texts[slot] = text;
    this.#starts[slot] = start;
    this.#lengths[slot] = length;
    return text;
  }

  /** The text up to the next line break, without it. */
  line(): string {
    const end = this.#bytes.indexOf(0x0a, this.at);
    const text = UTF8.decode(this.#bytes.subarray(this.at, end));
    this.at = end + 1;
    return text;
  }

  /** FNV-1a. */
  #slotOf(start: number, length: number): number {
    let hash = 0x811c9dc5;
    for (let at = start; at < start + length; at++) hash = Math.imul(hash ^ (this.#bytes[at] ?? 0), 0x01000193);
    return (hash ^ (hash >>> 12)) & (INTERNED - 1);
  }

  #isSame(one: number, other: number, length: number): boolean {
    for (let at = 0; at < length; at++) if (this.#bytes[one + at] !== this.#bytes[other + at]) return false;
    return true;
  }
}
