import { createHash } from 'node:crypto';
import { fileListSha256 } from '@coxswain/checkpoint';
import type { CheckpointStore } from '../checkpoint-store.ts';
import { type CopyOptions, SaveDiffers } from './copy-save.ts';
import { chunksOf } from './copy-steps.ts';

/** A save without a manifest of Coxswain, and the SHA-256 of the list of its files. */
export interface ListedSave {
  /** The same in both stores. */
  readonly folder: string;
  readonly filesSha256: string;
}

/** A file in a store costs two parts of 16 MiB of memory while it is copied. */
const FILES_AT_ONCE = 4;

/** Whether the folder holds exactly the files of that list. */
export async function hasListed(store: CheckpointStore, { folder, filesSha256 }: ListedSave): Promise<boolean> {
  return sha256Of(await filesOf(store, folder)) === filesSha256;
}

/**
 * Copies all files of a folder, if their list has that SHA-256. Each appears whole. It can be repeated after any interruption, and copies only files that are
 * not there with their size: the list of the copy shows when it is complete.
 * @throws SaveDiffers if the list or a file is another one; StoreError if a store does not answer.
 */
export async function copyListed(
  { folder, filesSha256 }: ListedSave,
  { from, to, signal, onProgress }: CopyOptions,
): Promise<void> {
  const files = await filesOf(from, folder);
  const found = sha256Of(files);
  const { location } = from;
  if (found !== filesSha256) {
    const expected = `files with the list of SHA-256 ${filesSha256}`;
    throw new SaveDiffers(folder, { expected, found: `a list of SHA-256 ${found}`, location });
  }
  const present = new Map((await filesOf(to, folder)).map(({ path, bytes }) => [path, bytes]));
  const all = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let copied = 0;
  const onBytes = (bytes: number): void => onProgress?.((copied += bytes), all);
  const waiting = files.filter(({ path, bytes }) => present.get(path) !== bytes);
  const copyNext = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const path = `${folder}/${file.path}`;
      const differs = (expected: string, read: string): Error =>
        new SaveDiffers(path, { expected, found: read, location });
      await to.write(path, chunksOf(from, { path, bytes: file.bytes }, { onBytes, signal, differs }));
    }
  };
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, copyNext));
}

function sha256Of(files: Parameters<typeof fileListSha256>[0]): string {
  return fileListSha256(files, createHash('sha256'));
}

/** With paths relative to the folder. */
async function filesOf(
  store: CheckpointStore,
  folder: string,
): Promise<readonly { readonly path: string; readonly bytes: number }[]> {
  return (await store.list(folder)).map(({ path, bytes }) => ({ path: path.slice(folder.length + 1), bytes }));
}
