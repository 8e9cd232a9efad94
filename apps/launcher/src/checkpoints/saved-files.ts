/** The files in the directory of a save. */
import { constants } from 'node:fs';
import { type FileHandle, open, opendir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  END_BYTES,
  isTruncated,
  MANIFEST_FILE,
  parsePythonJson,
  type SavedFile,
  wholenessCheck,
} from '@coxswain/checkpoint';
import { errnoOf } from './checkpoint-files.ts';

/** Most files of one save: 16,384 ranks with six files each. Further files are ignored. */
const MOST_FILES = 100_000;
const MOST_FOLDERS_DEEP = 4;
/** Largest size of the small files that name the newest save. */
const MOST_TEXT_BYTES = 4_096;
/** Of a JSON file that a format keeps beside its tensors. */
const MOST_JSON_BYTES = 64 * 1024 * 1024;

/** A file of a save, with the time of its last change in milliseconds since the Unix epoch. */
export interface FoundFile extends SavedFile {
  readonly changedMs: number;
}

/** Names in a directory; none where there is no directory. */
export async function namesIn(directory: string): Promise<readonly string[]> {
  return (await unlessGone(() => readdir(directory))) ?? [];
}

/** The text of a small file; undefined where there is none, or it is not small. */
export async function textOf(path: string): Promise<string | undefined> {
  return await unlessGone(async () => {
    const { size } = await stat(path);
    return size > MOST_TEXT_BYTES ? undefined : await readFile(path, 'utf8');
  });
}

/** Whether a file lies below the directory; also if it cannot be read, which proves nothing. */
export async function hasFile(directory: string): Promise<boolean> {
  try {
    return (
      (await unlessGone(async () => {
        for await (const _path of pathsBelow(directory, '')) return true;
        return false;
      })) ?? false
    );
  } catch {
    return true;
  }
}

/** Every regular file below a directory but our own manifest, in the order of their paths; links lead nowhere. undefined where it is gone meanwhile. */
export async function filesBelow(directory: string): Promise<readonly FoundFile[] | undefined> {
  return await unlessGone(async () => {
    const found: FoundFile[] = [];
    for await (const path of pathsBelow(directory, '')) {
      if (found.length === MOST_FILES) throw new Error(`it has more than ${MOST_FILES} files`);
      const { size, mtimeMs } = await stat(join(directory, path));
      found.push({ path, bytes: size, changedMs: mtimeMs });
    }
    return found.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  });
}

async function* pathsBelow(directory: string, folder: string): AsyncGenerator<string> {
  for await (const entry of await opendir(join(directory, folder))) {
    const path = join(folder, entry.name);
    const depth = path.split('/').length;
    if (entry.isDirectory() && depth < MOST_FOLDERS_DEEP) yield* pathsBelow(directory, path);
    if (entry.isFile() && !path.startsWith(MANIFEST_FILE)) yield path;
  }
}

/** Why a file is truncated, for formats whose bytes show it; undefined if no file is known to be truncated. */
export async function describeTruncated(directory: string, files: readonly SavedFile[]): Promise<string | undefined> {
  for (const { path } of files) {
    const check = wholenessCheck(path);
    if (check === 'archive' && (await endsEarly(join(directory, path)))) return `${path} is cut off`;
    if (check === 'json' && !(await isJson(join(directory, path)))) return `${path} is cut off`;
  }
  return undefined;
}

/**
 * Opens a file and gives it to `read` with its size. A network file system asks its server for a file that is opened: the size of a listing can be an old one,
 * by which a file that is whole seems to be cut off.
 */
export async function withOpenFile<T>(path: string, read: (file: FileHandle, bytes: number) => Promise<T>): Promise<T> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return await read(file, (await file.stat()).size);
  } finally {
    await file.close();
  }
}

async function endsEarly(path: string): Promise<boolean> {
  return await withOpenFile(path, async (file, bytes) => {
    const ends = [0, Math.max(0, bytes - END_BYTES)].map(async (position) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(END_BYTES), 0, END_BYTES, position);
      return buffer.subarray(0, bytesRead);
    });
    const [head = Buffer.alloc(0), tail = Buffer.alloc(0)] = await Promise.all(ends);
    return isTruncated(head, tail);
  });
}

async function isJson(path: string): Promise<boolean> {
  return await withOpenFile(path, async (file, bytes) => {
    if (bytes > MOST_JSON_BYTES) return true;
    try {
      parsePythonJson(await file.readFile('utf8'));
      return true;
    } catch (error) {
      if (error instanceof SyntaxError) return false;
      throw error;
    }
  });
}

/** The result of `act`; undefined if a file is gone, because engines delete their oldest saves. */
export async function unlessGone<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? '')) return undefined;
    throw error;
  }
}
