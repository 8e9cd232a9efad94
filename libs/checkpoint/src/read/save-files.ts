/** What a reader of checkpoints asks of a file system or an object store. */

/** A file of a save. */
export interface StoredFile {
  /** Relative to the save, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** When it was last written, milliseconds since 1970; undefined if the store does not say. */
  readonly writtenMs?: number;
  /** What stands at the path, if that is no plain file: a link can point outside of the save, and is not followed. */
  readonly isLink?: boolean;
}

/** The files of one save, read-only. */
export interface SaveFiles {
  /** All files below the save, in any order. Rejects if there are more than a checkpoint has. */
  readonly list: () => Promise<readonly StoredFile[]>;
  /** Bytes `[offset, offset + length)` of a file; fewer only if the file ends before. */
  readonly read: (path: string, offset: number, length: number) => Promise<Uint8Array>;
}

/** CRC-32 (ISO 3309, as in zip) of bytes that follow bytes with the CRC-32 `before`, 0 at the start. */
export type Crc32 = (bytes: Uint8Array, before: number) => number;
