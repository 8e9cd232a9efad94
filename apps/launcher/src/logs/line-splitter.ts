const NEWLINE = 0x0a;
/** Most pieces of a line that are kept apart: a program that writes byte by byte would make the launcher hold an object for each byte. */
const MAX_PIECES = 64;

/** A line of output without its newline, or as much of it as may be kept. */
export interface Line {
  readonly bytes: Buffer;
  /** Bytes beyond the longest length, which are gone. */
  readonly cutBytes: number;
}

/**
 * Splits a stream of bytes into lines without holding more than `maxBytes` of one. Bytes are passed as they are: no encoding is
 * assumed, and a carriage return is a byte like any other.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #cutBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that `chunk` completes. They may share its memory. */
  push(chunk: Buffer): Line[] {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      lines.push(this.#complete(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
    return lines;
  }

  /** What came after the last newline, once the stream has ended. */
  end(): Line | undefined {
    return this.#isEmpty() ? undefined : this.#take();
  }

  #complete(rest: Buffer): Line {
    if (this.#isEmpty()) {
      return { bytes: rest.subarray(0, this.#maxBytes), cutBytes: Math.max(0, rest.length - this.#maxBytes) };
    }
    this.#hold(rest);
    return this.#take();
  }

  /** Copies: a few bytes that wait for their newline must not keep a whole chunk alive. */
  #hold(part: Buffer): void {
    const kept = part.subarray(0, this.#maxBytes - this.#heldBytes);
    if (kept.length > 0) this.#held.push(Buffer.from(kept));
    if (this.#held.length > MAX_PIECES) this.#held = [Buffer.concat(this.#held)];
    this.#heldBytes += kept.length;
    this.#cutBytes += part.length - kept.length;
  }

  #take(): Line {
    const line = { bytes: Buffer.concat(this.#held), cutBytes: this.#cutBytes };
    this.#held = [];
    this.#heldBytes = 0;
    this.#cutBytes = 0;
    return line;
  }

  #isEmpty(): boolean {
    return this.#heldBytes === 0 && this.#cutBytes === 0;
  }
}
