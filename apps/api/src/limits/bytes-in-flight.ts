/** Bytes of answers that have not been sent yet, of all clients together. */
export class BytesInFlight {
  readonly #most: number;
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes room for an answer and returns what gives it back, once. Undefined: there is no room now. The first answer always has room. */
  take(bytes: number): (() => void) | undefined {
    if (this.#bytes > 0 && this.#bytes + bytes > this.#most) return undefined;
    this.#bytes += bytes;
    let isHeld = true;
    return () => {
      if (isHeld) this.#bytes -= bytes;
      isHeld = false;
    };
  }
}
