/** What a reader of checkpoints asks for. It asks and does not wait: its caller reads from a file system or an object store. */

/** A file of a save. */
export interface StoredFile {
  /** Relative to the save, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** When it was last written, milliseconds since 1970; absent if the store does not say. */
  readonly writtenMs?: number;
  /** What stands at the path is no plain file: a link can point outside of the save, and is not followed. */
  readonly isLink?: boolean;
  /** The place below the same directory to which a link leads; absent if it leads elsewhere. */
  readonly leadsTo?: string;
}

/** Bytes that a reader wants: `length` bytes of a file from `offset` on. */
export interface ReadRequest {
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

/** A look into files: it yields what it wants to read, is given the bytes (fewer only if the file ends before), and returns what it found. */
export type Reading<Found> = Generator<ReadRequest, Found, Uint8Array>;

/** One read of a {@link Reading}. */
export function* readBytes(path: string, offset: number, length: number): Reading<Uint8Array> {
  return yield { path, offset, length };
}

/** Stands in a save from the begin of its deletion to its end. */
export const DELETION_FILE = '.coxswain-deletion';

/** Stands in a save while it is written from another one. It goes after the save is complete, so it says nothing of one that is. */
export const RESHARD_FILE = '.coxswain-reshard';

/** Stands in a universal save that Coxswain made, and identifies the save that it was made from. It says nothing of the bytes. */
export const CONVERSION_FILE = '.coxswain-conversion';

/** CRC-32 (ISO 3309, as in zip) of bytes that follow bytes with the CRC-32 `before`, 0 at the start. */
export type Crc32 = (bytes: Uint8Array, before: number) => number;

/** SHA-256 of bytes or text that come in parts; `createHash('sha256')` of Node is one. */
export interface Sha256 {
  update(part: Uint8Array | string): unknown;
  digest(encoding: 'hex'): string;
}
