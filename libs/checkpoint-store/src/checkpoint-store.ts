import type { StoredFile } from '@coxswain/checkpoint';

/** More files than a checkpoint of 100,000 ranks has. */
export const MAX_FILES = 1_000_000;

/** A place that holds saves: a directory or a prefix of a bucket. Paths are relative to it, with `/`. */
export interface CheckpointStore {
  /** For messages, such as `s3://bucket/prefix`. */
  readonly location: string;
  /** Each read costs a round trip to another machine, so reads are worth combining. */
  readonly isRemote: boolean;
  /** All files, or those below `folder`; none if it does not exist. Links are listed and never followed. */
  list(folder?: string): Promise<readonly StoredFile[]>;
  /** Names of the folders right below `folder`; none if it does not exist. */
  folders(folder: string): Promise<readonly string[]>;
  /** `length` bytes from `offset` on; fewer only if the file ends before. They can be in `into`, if it is given and has room for them. */
  read(path: string, offset: number, length: number, into?: Uint8Array): Promise<Uint8Array>;
  /** Reads many ranges, one file after the other. Absent: {@link read} is as fast. */
  openReader?(onBytes?: (bytes: number) => void): StoreReader;
  /**
   * Writes a file, which appears whole or not at all; a large one in parts. Returns false, and changes nothing, if `ifAbsent` is set and
   * the file exists.
   */
  write(path: string, chunks: FileChunks, options?: { readonly ifAbsent?: boolean }): Promise<boolean>;
  /** Deletes files, in any order. A file that does not exist counts as deleted. */
  remove(paths: readonly string[]): Promise<void>;
}

/** Reads files of a store as {@link CheckpointStore.read} does, and may keep one open until it is closed. */
export interface StoreReader {
  read(path: string, offset: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** The bytes of a file, in order. Those of a part may change once the next one is asked for. */
export type FileChunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
