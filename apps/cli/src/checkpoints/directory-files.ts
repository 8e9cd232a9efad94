import type { Reading, StoredFile } from '@coxswain/checkpoint';
import { open, opendir, lstat } from 'node:fs/promises';
import { constants } from 'node:fs';
import { join } from 'node:path';
import { CliError } from '../cli-error.ts';

/** More files than a checkpoint of 100,000 ranks has. */
const MAX_FILES = 1_000_000;

/**
 * Gives a look at a save what it asks for, from the files below a directory. `onBytes` hears how many bytes each read gave.
 */
export async function readFrom<Found>(
  directory: string,
  reading: Reading<Found>,
  onBytes: (bytes: number) => void,
): Promise<Found> {
  let step = reading.next();
  while (step.done !== true) {
    const { path, offset, length } = step.value;
    const bytes = await read(join(directory, path), offset, length);
    onBytes(bytes.length);
    step = reading.next(bytes);
  }
  return step.value;
}

/** The files below a directory. Links are listed and never followed. */
export async function listFiles(directory: string): Promise<readonly StoredFile[]> {
  const files: StoredFile[] = [];
  for (const folders = ['']; folders.length > 0;) {
    const folder = folders.pop() ?? '';
    for await (const entry of await opendir(join(directory, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(path);
      else files.push(await stored(directory, path));
      if (files.length > MAX_FILES)
        throw new CliError(`${directory} holds more than ${String(MAX_FILES)} files. Name the directory of one save.`);
    }
  }
  return files;
}

async function stored(directory: string, path: string): Promise<StoredFile> {
  const { size, mtimeMs, ...stats } = await lstat(join(directory, path));
  return { path, bytes: size, writtenMs: mtimeMs, ...(isPlain(stats) ? {} : { isLink: true }) };
}

/** Anything but a plain file could lead elsewhere, or never end. */
function isPlain({ mode }: { readonly mode: number }): boolean {
  return (mode & constants.S_IFMT) === constants.S_IFREG;
}

async function read(path: string, offset: number, length: number): Promise<Uint8Array> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const bytes = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return bytes.subarray(0, filled);
  } finally {
    await file.close();
  }
}
