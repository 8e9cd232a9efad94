/** Memory for bands, used again and again: new memory for each band costs as much time as its checksums. */

/** Memory of one band, which is carved into parts. It goes back when each of its users has released it. */
export class BandBuffer {
  readonly #bytes: Uint8Array;
  readonly #giveBack: (buffer: BandBuffer) => void;
  #carved = 0;
  #users = 0;

  constructor(bytes: number, giveBack: (buffer: BandBuffer) => void) {
    this.#bytes = new Uint8Array(bytes);
    this.#giveBack = giveBack;
  }

  /** The next `length` bytes of it. They hold what was there before. */
  carve(length: number): Uint8Array {
    const part = this.#bytes.subarray(this.#carved, this.#carved + length);
    if (part.length < length) throw new RangeError('a band is larger than its buffer');
    this.#carved += length;
    return part;
  }

  /** Keeps it until {@link release} is called once more. */
  retain(): this {
    this.#users++;
    return this;
  }

  readonly release = (): void => {
    this.#users--;
    if (this.#users > 0) return;
    this.#carved = 0;
    this.#giveBack(this);
  };
}

/** Buffers of `bandBytes`, at most {@link MOST_BUFFERS}: a band waits until one is free. */
export class BandBuffers {
  readonly #bandBytes: number;
  readonly #free: BandBuffer[] = [];
  readonly #waiting: ((buffer: BandBuffer) => void)[] = [];
  #made = 0;

  constructor(bandBytes: number) {
    this.#bandBytes = bandBytes;
  }

  /** A buffer with one user. A band of a single element can be larger than `bandBytes`. */
  async take(bytes: number): Promise<BandBuffer> {
    if (bytes > this.#bandBytes) return new BandBuffer(bytes, () => undefined).retain();
    const free = this.#free.pop();
    if (free !== undefined) return free.retain();
    if (this.#made < MOST_BUFFERS) {
      this.#made++;
      return new BandBuffer(this.#bandBytes, (buffer) => this.#giveBack(buffer)).retain();
    }
    const buffer = await new Promise<BandBuffer>((resolve) => this.#waiting.push(resolve));
    return buffer.retain();
  }

  #giveBack(buffer: BandBuffer): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(buffer);
    else next(buffer);
  }
}

/** Some are read into and one is gathered into; the others wait to be written, which needs no further one. */
const MOST_BUFFERS = 12;
