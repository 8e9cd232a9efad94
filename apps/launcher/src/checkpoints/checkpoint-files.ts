/** Access to the files of a checkpoint. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, readFile, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** The file system, as verification needs it. System errors reject with an error that has a `code` (ENOENT, EIO, ...). */
export interface CheckpointFiles {
  /** Bytes of a regular file. Opens the file, so that a network file system asks its server. */
  sizeOf(path: string): Promise<number | 'no regular file'>;
  /** Reads a file. Rejects with {@link TooLong}, without reading, if the file has more than `maxBytes`. */
  read(path: string, maxBytes: number): Promise<Buffer>;
  /** Reads a whole file of any length, and returns its length and hash. */
  digestOf(path: string): Promise<FileDigest | 'no regular file'>;
  namesIn(directory: string): Promise<readonly string[]>;
  /** Writes a new file, waits until storage has it, returns what it reads from it, and removes it. */
  writeAndReadBack(path: string, text: string): Promise<string>;
  pause(ms: number): Promise<void>;
}

/** Length and content of a file. */
export interface FileDigest {
  readonly bytes: number;
  readonly sha256: string;
}

/** A file is longer than the limit. */
export class TooLong extends Error {
  readonly bytes: number;

  constructor(bytes: number) {
    super(`the file has ${bytes} bytes`);
    this.bytes = bytes;
  }
}

/** Not through a link, and without waiting for the other end of a pipe. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Bytes per read: small enough that a slow mount shows progress. */
const PART_BYTES = 512 * 1024;

/** The real file system. Calls `onAnswer` whenever it has answered a call, also for a part of a file. */
export function filesOnDisk(onAnswer: () => void = () => undefined): CheckpointFiles {
  return {
    async sizeOf(path) {
      try {
        return await opened(path, async (file) => {
          const stats = await file.stat();
          return stats.isFile() ? stats.size : 'no regular file';
        });
      } catch (error) {
        // ELOOP: a link. ENXIO: a socket.
        if (['ELOOP', 'ENXIO'].includes(errnoOf(error) ?? '')) return 'no regular file';
        throw error;
      } finally {
        onAnswer();
      }
    },
    async read(path, maxBytes) {
      return await opened(path, async (file) => {
        const { size } = await file.stat();
        if (size > maxBytes) throw new TooLong(size);
        const parts: Buffer[] = [];
        for await (const part of file.createReadStream({ highWaterMark: PART_BYTES, autoClose: false })) {
          parts.push(part as Buffer);
          onAnswer();
        }
        return Buffer.concat(parts);
      });
    },
    digestOf: (path) => opened(path, (file) => digestOf(file, onAnswer)),
    namesIn: (directory) => readdir(directory).finally(onAnswer),
    async writeAndReadBack(path, text) {
      try {
        const file = await open(
          path,
          constants.O_CREAT | constants.O_TRUNC | constants.O_WRONLY | constants.O_NOFOLLOW,
        );
        try {
          await file.writeFile(text);
          await file.sync();
          onAnswer();
        } finally {
          await file.close();
        }
        return await readFile(path, 'utf8');
      } finally {
        await rm(path, { force: true }).catch(() => undefined);
        onAnswer();
      }
    },
    async pause(ms) {
      await delay(ms);
      onAnswer();
    },
  };
}

/** {@link filesOnDisk} for callers that need no sign of progress. */
export const realFiles: CheckpointFiles = filesOnDisk();

/** EIO, ESTALE, ...; undefined if the error is not a system error. */
export function errnoOf(error: unknown): string | undefined {
  const code: unknown = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

async function digestOf(file: FileHandle, onAnswer: () => void): Promise<FileDigest | 'no regular file'> {
  if (!(await file.stat()).isFile()) return 'no regular file';
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const part of file.createReadStream({ highWaterMark: PART_BYTES, autoClose: false })) {
    hash.update(part as Buffer);
    bytes += (part as Buffer).length;
    onAnswer();
  }
  return { bytes, sha256: hash.digest('hex') };
}

async function opened<T>(path: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, FLAGS);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}
