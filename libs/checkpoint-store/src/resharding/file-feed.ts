/** The bytes of a file that is written while they come. */
import type { FileChunks } from '../checkpoint-store.ts';

interface Part {
  readonly bytes: Uint8Array;
  readonly onWritten: () => void;
}

/** Takes bytes from one side and gives them to a store's `write` on the other. It holds few of them at a time. */
export class FileFeed {
  readonly #most: number;
  readonly #waiting: Part[] = [];
  #ended = false;
  #error: unknown;
  #wake: () => void = () => undefined;
  #room: () => void = () => undefined;

  /** `most`: parts that wait to be written before {@link push} waits. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Settles when there is room for more. The bytes must not change before `onWritten` is called. */
  async push(bytes: Uint8Array, onWritten: () => void = () => undefined): Promise<void> {
    if (bytes.length === 0 || this.#error !== undefined) onWritten();
    if (this.#error !== undefined) throw this.#error;
    if (bytes.length === 0) return;
    this.#waiting.push({ bytes, onWritten });
    this.#wake();
    while (this.#waiting.length > this.#most && this.#error === undefined) {
      await new Promise<void>((resolve) => (this.#room = resolve));
    }
    if (this.#error !== undefined) throw this.#error;
  }

  /** No more bytes come: the file is complete. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** The file must not appear, or its writer failed and takes no more bytes. */
  fail(error: unknown): void {
    this.#error ??= error;
    // Other files may wait for the memory of these parts.
    for (const { onWritten } of this.#waiting.splice(0)) onWritten();
    this.#wake();
    this.#room();
  }

  get chunks(): FileChunks {
    return this.#taken();
  }

  async *#taken(): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (this.#error !== undefined) throw this.#error;
      const part = this.#waiting.shift();
      if (part !== undefined) {
        try {
          yield part.bytes;
        } finally {
          part.onWritten();
          this.#room();
        }
      } else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
