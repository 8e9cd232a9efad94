import { deletionOrder, type StoredFile } from '@coxswain/checkpoint';
import type { CheckpointStore } from '../checkpoint-store.ts';
import { fileOfDraft } from '../directory/directory-store.ts';
import { StoreError } from '../store-error.ts';
import { chunksOf, copyInOrder, writeOnce } from './copy-steps.ts';

/** A copy of a save, and what happens while it is made. */
export interface SaveCopy {
  readonly from: CheckpointStore;
  /** Files of the save. */
  readonly files: readonly StoredFile[];
  readonly to: CheckpointStore;
  readonly onBytes?: (bytes: number) => void;
  readonly signal?: AbortSignal;
  /** Verifies the copy before it counts as a save: its data, with the marker files of the original. Rejects if it is not sound. */
  readonly verify: (store: Pick<CheckpointStore, 'isRemote' | 'read'>) => Promise<void>;
}

/**
 * Copies a save: data first, then {@link SaveCopy.verify}, then the marker files without which nothing loads it. If it is interrupted, the same call
 * goes on; files that are there and equal stay. Nothing that differs is overwritten.
 */
export async function exportSave(copy: SaveCopy): Promise<{ readonly copied: number; readonly present: number }> {
  const { from, files, to } = copy;
  const byPath = new Map(files.map((file) => [file.path, file]));
  const there = new Map((await to.list()).map((file) => [file.path, file]));
  const link = files.find(({ isLink }) => isLink === true);
  if (link !== undefined) throw refusal(`${link.path} of ${from.location} is a link, which is not copied`);
  // A directory store that was killed leaves the draft of a file, which is no part of a save.
  const drafts = [...there.keys()].filter((path) => byPath.has(fileOfDraft(path) ?? ''));
  const foreign = [...there.keys()].find((path) => !byPath.has(path) && !drafts.includes(path));
  if (foreign !== undefined)
    throw refusal(`${to.location} holds ${foreign}, which is not of this save. Name an empty place`);
  const { markers, data } = deletionOrder(files.map(({ path }) => path));
  const counts = { copied: 0, present: 0 };
  const putAll = async (paths: readonly string[]): Promise<void> => {
    for (const path of paths) {
      copy.signal?.throwIfAborted();
      const file = byPath.get(path);
      if (file !== undefined) counts[(await put(copy, file, there.get(path))) ? 'copied' : 'present']++;
    }
  };
  const isMarker = new Set(markers);
  const read: CheckpointStore['read'] = (path, ...range) => (isMarker.has(path) ? from : to).read(path, ...range);
  await copyInOrder({
    writeData: () => putAll(data),
    verify: () => copy.verify({ isRemote: from.isRemote || to.isRemote, read }),
    publish: async () => {
      await to.remove(drafts);
      await putAll(markers);
    },
    signal: copy.signal,
  });
  return counts;
}

/** `found`: as it was listed. Returns whether the file was written. */
async function put(copy: SaveCopy, file: StoredFile, found: StoredFile | undefined): Promise<boolean> {
  const { path } = file;
  return await writeOnce(copy.to, {
    path,
    chunks: () => partsOf(copy, file),
    isListed: found !== undefined,
    requireEqual: async () => {
      if (await isEqual(copy, file, found)) return;
      throw refusal(
        `${path} in ${copy.to.location} differs from the file of the save. Name another place, or delete it`,
      );
    },
  });
}

function refusal(what: string): StoreError {
  return new StoreError('InvalidLocation', `${what}.`);
}

function partsOf({ from, onBytes, signal }: SaveCopy, { path, bytes }: StoredFile): AsyncGenerator<Uint8Array> {
  const differs = (): StoreError => refusal(`${path} of ${from.location} became shorter while it was copied`);
  return chunksOf(from, { path, bytes }, { onBytes, signal, differs });
}

/** `found`: as it was listed; undefined: it appeared since. */
async function isEqual(copy: SaveCopy, file: StoredFile, found: StoredFile | undefined): Promise<boolean> {
  if (found?.isLink === true || (found !== undefined && found.bytes !== file.bytes)) return false;
  let offset = 0;
  for await (const part of partsOf(copy, file)) {
    const other = await copy.to.read(file.path, offset, part.length);
    if (Buffer.compare(part, other) !== 0) return false;
    offset += part.length;
  }
  return true;
}
