import { deletionOrder, type StoredFile } from '@coxswain/checkpoint';
import type { CheckpointStore } from '../checkpoint-store.ts';
import { StoreError } from '../store-error.ts';

/** Bytes that are held at a time. */
const PART_BYTES = 4 << 20;

/** Ends the name of a file that is not written to its end. */
const DRAFT = /\.[0-9a-f-]{36}\.part$/;

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
export async function copySave(copy: SaveCopy): Promise<{ readonly copied: number; readonly present: number }> {
  const { from, files, to } = copy;
  const byPath = new Map(files.map((file) => [file.path, file]));
  const there = new Map((await to.list()).map((file) => [file.path, file]));
  const link = files.find(({ isLink }) => isLink === true);
  if (link !== undefined) throw refusal(`${link.path} of ${from.location} is a link, which is not copied`);
  // A directory store that was killed leaves the draft of a file, which is no part of a save.
  const drafts = [...there.keys()].filter((path) => DRAFT.test(path) && byPath.has(path.replace(DRAFT, '')));
  const foreign = [...there.keys()].find((path) => !byPath.has(path) && !drafts.includes(path));
  if (foreign !== undefined)
    throw refusal(`${to.location} holds ${foreign}, which is not of this save. Name an empty place`);
  const { markers, data } = deletionOrder(files.map(({ path }) => path));
  const counts = { copied: 0, present: 0 };
  const put = async (path: string): Promise<void> => {
    copy.signal?.throwIfAborted();
    const file = byPath.get(path);
    if (file === undefined) return;
    const found = there.get(path);
    if (found === undefined && (await to.write(path, chunksOf(copy, file), { ifAbsent: true }))) counts.copied++;
    else if (await isEqual(copy, file, found)) counts.present++;
    else throw refusal(`${path} in ${to.location} differs from the file of the save. Name another place, or delete it`);
  };
  for (const path of data) await put(path);
  const isMarker = new Set(markers);
  await copy.verify({
    isRemote: from.isRemote || to.isRemote,
    read: (path, offset, length) => (isMarker.has(path) ? from : to).read(path, offset, length),
  });
  await to.remove(drafts);
  for (const path of markers) await put(path);
  return counts;
}

function refusal(what: string): StoreError {
  return new StoreError('InvalidLocation', `${what}.`);
}

async function* chunksOf({ from, onBytes, signal }: SaveCopy, { path, bytes }: StoredFile): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < bytes; offset += PART_BYTES) {
    signal?.throwIfAborted();
    const length = Math.min(PART_BYTES, bytes - offset);
    const part = await from.read(path, offset, length);
    if (part.length !== length) throw refusal(`${path} of ${from.location} became shorter while it was copied`);
    onBytes?.(part.length);
    yield part;
  }
}

/** `found`: as it was listed; undefined: it appeared since. */
async function isEqual(copy: SaveCopy, file: StoredFile, found: StoredFile | undefined): Promise<boolean> {
  if (found?.isLink === true || (found !== undefined && found.bytes !== file.bytes)) return false;
  let offset = 0;
  for await (const part of chunksOf(copy, file)) {
    const other = await copy.to.read(file.path, offset, part.length);
    if (Buffer.compare(part, other) !== 0) return false;
    offset += part.length;
  }
  return true;
}
