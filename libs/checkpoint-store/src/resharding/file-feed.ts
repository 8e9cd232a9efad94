/** The bytes of a file that is written while they come. */
import type { FileChunks } from '../checkpoint-store.ts';

/** Takes bytes from one side and gives them to a store's `write` on the other. It holds few of them at a time. */
export class FileFeed {
  readonly #most: number;
  readonly #waiting: Uint8Array[] = [];
  #ended = false;
  #error: unknown;
  #wake: () => void = () => undefined;
  #room: () => void = () => undefined;

  /** `most`: parts that wait to be written before {@link push} waits. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Settles when there is room for more. The bytes must not change afterwards. */
  async push(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    this.#waiting.push(bytes);
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

  /** The file must not appear; or its writer failed, and nobody takes more bytes. */
  fail(error: unknown): void {
    this.#error ??= error;
    this.#wake();
    this.#room();
  }

  get chunks(): FileChunks {
    return this.#taken();
  }

  async *#taken(): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (this.#error !== undefined) throw this.#error;
      const bytes = this.#waiting.shift();
      if (bytes !== undefined) {
        yield bytes;
        this.#room();
      } else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
