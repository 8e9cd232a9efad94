import type { StoredFile } from '@coxswain/checkpoint';
import { randomUUID } from 'node:crypto';
import { constants, type Dirent } from 'node:fs';
import { link, lstat, mkdir, open, opendir, realpath, rename, rmdir, unlink } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { type CheckpointStore, type FileChunks, MAX_FILES, type StoreReader } from '../checkpoint-store.ts';
import { StoreError } from '../store-error.ts';
import { BackgroundSync } from './background-sync.ts';
import { codeOf, directoryErrorOf } from './directory-errors.ts';
import { DirectoryReader, type FileRange, type OnBytes } from './directory-reader.ts';

const FILES_AT_ONCE = 16;

/** Saves below a directory. */
export class DirectoryStore implements CheckpointStore {
  readonly location: string;
  readonly isRemote = false;

  constructor(directory: string) {
    this.location = directory;
  }

  list(folder = ''): Promise<readonly StoredFile[]> {
    return this.#ask('list files', () => this.#list(folder));
  }

  async #list(top: string): Promise<readonly StoredFile[]> {
    const files: StoredFile[] = [];
    for (const folders = [top]; folders.length > 0;) {
      const folder = folders.pop() ?? '';
      for await (const entry of await this.#opened(folder)) {
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
        if (entry.isDirectory()) folders.push(path);
        else files.push(...(await this.#stored(path)));
        if (files.length > MAX_FILES)
          throw new StoreError(
            'TooManyFiles',
            `${this.location} holds more than ${String(MAX_FILES)} files. Name the directory of one save.`,
          );
      }
    }
    return files;
  }

  folders(folder: string): Promise<readonly string[]> {
    return this.#ask('list folders', () => this.#folders(folder));
  }

  async #folders(folder: string): Promise<readonly string[]> {
    const names: string[] = [];
    for await (const entry of await this.#opened(folder)) if (entry.isDirectory()) names.push(entry.name);
    return names;
  }

  read(path: string, offset: number, length: number, into?: Uint8Array): Promise<Uint8Array> {
    return this.#ask(`read ${path}`, () => this.#read(path, { offset, length, into }));
  }

  async #read(path: string, range: FileRange): Promise<Uint8Array> {
    const reader = new DirectoryReader();
    try {
      return await reader.read(this.#at(path), range);
    } finally {
      await reader.close();
    }
  }

  openReader(onBytes?: OnBytes): StoreReader {
    const reader = new DirectoryReader(onBytes);
    return {
      read: (path, offset, length) => this.#ask(`read ${path}`, () => reader.read(this.#at(path), { offset, length })),
      close: () => reader.close(),
    };
  }

  /** Those of these files that exist, in their order. `onAnswer` is called whenever the file system has answered. */
  async find(paths: readonly string[], onAnswer: () => void = () => undefined): Promise<readonly StoredFile[]> {
    const found: StoredFile[] = [];
    for (let start = 0; start < paths.length; start += FILES_AT_ONCE) {
      const part = paths.slice(start, start + FILES_AT_ONCE);
      found.push(...(await this.#ask('find files', () => this.#storedOf(part))));
      onAnswer();
    }
    return found;
  }

  async #storedOf(paths: readonly string[]): Promise<readonly StoredFile[]> {
    return (await Promise.all(paths.map((path) => this.#stored(path)))).flat();
  }

  write(path: string, chunks: FileChunks, { ifAbsent = false } = {}): Promise<boolean> {
    return this.#ask(`write ${path}`, () => this.#write(path, chunks, ifAbsent));
  }

  async #write(path: string, chunks: FileChunks, ifAbsent: boolean): Promise<boolean> {
    const target = this.#at(path);
    const draft = `${target}.${randomUUID()}.part`;
    await mkdir(dirname(target), { recursive: true });
    try {
      await writeDurably(draft, chunks);
      if (!ifAbsent) await rename(draft, target);
      else if (!(await linked(draft, target))) return false;
      await sync(dirname(target));
      return true;
    } finally {
      await unlinkIfThere(draft);
    }
  }

  remove(paths: readonly string[]): Promise<void> {
    return this.#ask('delete files', () => this.#remove(paths));
  }

  async #remove(paths: readonly string[]): Promise<void> {
    for (const path of paths) await unlinkIfThere(this.#at(path));
    for (const folder of new Set(paths.map((path) => dirname(path)))) {
      // What is deleted later must not be gone before it after a loss of power.
      await ifThere(sync(this.#at(folder)));
      await this.#removeEmpty(folder);
    }
  }

  /** Empty if the folder was deleted since its parent was read, or became a link. */
  async #opened(folder: string): Promise<AsyncIterable<Dirent>> {
    const path = this.#at(folder);
    if (folder === '') return await opendir(path);
    try {
      return (await lstat(path)).isDirectory() ? await opendir(path) : NO_ENTRIES;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return NO_ENTRIES;
      throw error;
    }
  }

  /** None if it was deleted since its directory was read. */
  async #stored(path: string): Promise<readonly StoredFile[]> {
    try {
      const stats = await lstat(this.#at(path));
      const file = { path, bytes: stats.size, writtenMs: stats.mtimeMs };
      return [stats.isFile() ? file : { ...file, isLink: true, ...(await this.#leadsTo(path)) }];
    } catch (error) {
      if (['ENOENT', 'ENOTDIR'].includes(String(codeOf(error)))) return [];
      throw error;
    }
  }

  async #leadsTo(path: string): Promise<Pick<StoredFile, 'leadsTo'>> {
    const target = await realpath(join(this.location, path)).catch(() => undefined);
    if (target === undefined) return {};
    const leadsTo = relative(await realpath(this.location), target)
      .split(sep)
      .join('/');
    return leadsTo === '' || leadsTo === path || leadsTo.split('/')[0] === '..' ? {} : { leadsTo };
  }

  /** Folders that became empty, up to the store itself. */
  async #removeEmpty(folder: string): Promise<void> {
    for (let at = folder; at !== '.'; at = dirname(at)) {
      try {
        await rmdir(this.#at(at));
      } catch (error) {
        if (codeOf(error) === 'ENOENT') continue;
        return; // Something else is in it.
      }
    }
  }

  async #ask<Answer>(doing: string, work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      throw directoryErrorOf(error, doing, this.location);
    }
  }

  #at(path: string): string {
    if (path.startsWith('/') || path.split('/').includes('..'))
      throw new StoreError('InvalidLocation', `${path} is outside of ${this.location}.`);
    return join(this.location, path);
  }
}

/** How a file is called before it is whole. */
const DRAFT = /\.[0-9a-f-]{36}\.part$/;

/** The file that a draft was to become; undefined: it is no draft. A writer that is killed leaves its draft. */
export function fileOfDraft(path: string): string | undefined {
  return DRAFT.test(path) ? path.replace(DRAFT, '') : undefined;
}

/** Of a folder that is gone. */
const NO_ENTRIES: AsyncIterable<Dirent> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
};

async function writeDurably(path: string, chunks: FileChunks): Promise<void> {
  const file = await open(path, 'wx');
  try {
    const drain = new BackgroundSync(file);
    for await (const chunk of chunks) {
      await file.writeFile(chunk);
      drain.wrote(chunk.length);
    }
    await drain.end();
    await file.sync();
  } finally {
    await file.close();
  }
}

/** By a link, which fails if the file exists; a rename would replace it. */
async function linked(draft: string, target: string): Promise<boolean> {
  try {
    await link(draft, target);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function sync(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY);
  await handle.sync().finally(() => handle.close());
}

async function unlinkIfThere(path: string): Promise<void> {
  await ifThere(unlink(path));
}

async function ifThere(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
}
