/** Access to the files of a checkpoint. */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** The file system, as verification needs it. System errors reject with an error that has a `code` (ENOENT, EIO, ...). */
export interface CheckpointFiles {
  /** Bytes of a regular file. Opens the file, so that a network file system asks its server. */
  sizeOf(path: string): Promise<number | 'no regular file'>;
  /** Reads a file. Rejects with {@link TooLong}, without reading, if the file has more than `maxBytes`. */
  read(path: string, maxBytes: number): Promise<Buffer>;
  namesIn(directory: string): Promise<readonly string[]>;
  pause(ms: number): Promise<void>;
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
    namesIn: (directory) => readdir(directory).finally(onAnswer),
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

async function opened<T>(path: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, FLAGS);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}
