/**
 * The steps of every copy of a save from one store to another. Two copies take them, each with rules of its own:
 *
 * - `exportSave`, for `coxswain checkpoint export`: a person names a place once, so it copies saves of every format, also without a manifest, into an empty
 *   place. It overwrites nothing, and accepts a file that is there only if all of its bytes are equal.
 * - `copySave`, for a job's bucket: launchers repeat it until it is done, so an upload marker tells a half-uploaded save from one of another program. The
 *   manifest gives sizes and checksums: a file of this save that has its size is not read again, and one of another save is replaced.
 */
import { createHash } from 'node:crypto';
import type { StoredFile } from '@coxswain/checkpoint';
import type { CheckpointStore, FileChunks } from '../checkpoint-store.ts';

/** Bytes of a file that are held at a time. */
const PART_BYTES = 4 << 20;

/** What a copy does in each step. */
export interface CopySteps {
  /** Writes everything without which the save is no save, except its marker files. */
  readonly writeData: () => Promise<void>;
  /** Rejects if what was written is not the save. */
  readonly verify: () => Promise<void>;
  /** Writes the files that make loaders see a save, by {@link writeOnce}. */
  readonly publish: () => Promise<void>;
  readonly signal?: AbortSignal | undefined;
}

/** Copies in the order that leaves no half-copied save that a loader takes for a whole one, wherever the process ends. */
export async function copyInOrder({ writeData, verify, publish, signal }: CopySteps): Promise<void> {
  for (const step of [writeData, verify, publish]) {
    signal?.throwIfAborted();
    await step();
  }
}

/** A file that is written if it is not there. */
export interface FileToWrite {
  readonly path: string;
  readonly chunks: () => FileChunks;
  /** Whether the store listed it: then it is not sent. */
  readonly isListed?: boolean;
  /** Rejects if the file that is there has other content. */
  readonly requireEqual: () => Promise<void>;
}

/** Writes a file by a conditional write, or accepts an equal one, so that it can be repeated. Returns whether it was written. */
export async function writeOnce(
  to: CheckpointStore,
  { path, chunks, isListed = false, requireEqual }: FileToWrite,
): Promise<boolean> {
  if (!isListed && (await to.write(path, chunks(), { ifAbsent: true }))) return true;
  await requireEqual();
  return false;
}

/** A file to read. `sha256`: of its content, if it is known. */
export interface FileToRead extends Pick<StoredFile, 'path' | 'bytes'> {
  readonly sha256?: string | undefined;
}

/** How a file is read, and the error if it differs. */
export interface ChunkOptions {
  readonly onBytes?: ((bytes: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly differs: (expected: string, found: string) => Error;
}

/**
 * The chunks of a file. If it is shorter than `bytes`, or its content is not that of `sha256`, the last chunk does not come, so that no store writes the
 * file.
 */
export async function* chunksOf(
  from: Pick<CheckpointStore, 'read'>,
  { path, bytes, sha256 }: FileToRead,
  { onBytes, signal, differs }: ChunkOptions,
): AsyncGenerator<Uint8Array> {
  const hash = sha256 === undefined ? undefined : createHash('sha256');
  for (let at = 0; at < bytes;) {
    signal?.throwIfAborted();
    const chunk = await from.read(path, at, Math.min(PART_BYTES, bytes - at));
    if (chunk.length === 0) throw differs(`${bytes} bytes`, `${at} bytes`);
    hash?.update(chunk);
    at += chunk.length;
    onBytes?.(chunk.length);
    const found = at === bytes ? hash?.digest('hex') : undefined;
    if (found !== sha256 && at === bytes) throw differs(`SHA-256 ${sha256}`, `SHA-256 ${found}`);
    yield chunk;
  }
}
