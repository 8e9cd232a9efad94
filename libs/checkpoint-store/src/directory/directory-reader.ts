/** Reads ranges of files in a directory. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** Part of a long read: small enough that a slow mount shows progress. */
const PART_BYTES = 4 << 20;
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A range of bytes of a file. */
export interface FileRange {
  readonly offset: number;
  readonly length: number;
  /** Where the bytes go, if it has room for them. */
  readonly into?: Uint8Array | undefined;
}

/** Receives how many bytes each part of a read gave. */
export type OnBytes = (bytes: number) => void;

/** Keeps the last file open, because a reading goes through one file after the other. */
export class DirectoryReader {
  readonly #onBytes: OnBytes;
  #open: { readonly path: string; readonly file: FileHandle } | undefined;

  constructor(onBytes: OnBytes = () => undefined) {
    this.#onBytes = onBytes;
  }

  /** Fewer bytes than asked for only if the file ends before. */
  async read(path: string, range: FileRange): Promise<Uint8Array> {
    if (this.#open?.path !== path) {
      await this.close();
      this.#open = { path, file: await open(path, FLAGS) };
    }
    return await readRange(this.#open.file, range, this.#onBytes);
  }

  async close(): Promise<void> {
    const last = this.#open;
    this.#open = undefined;
    await last?.file.close();
  }
}

async function readRange(file: FileHandle, { offset, length, into }: FileRange, onBytes: OnBytes): Promise<Uint8Array> {
  const bytes = into ?? new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const part = Math.min(PART_BYTES, length - filled);
    const { bytesRead } = await file.read(bytes, filled, part, offset + filled);
    onBytes(bytesRead);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
