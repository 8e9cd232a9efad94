/** How the pods of a gang upload one save together: rank 0's pod calls for the parts, each pod uploads its own, and rank 0's pod publishes the save. */
import { createHash } from 'node:crypto';
import {
  describeUnlisted,
  isPartFile,
  MANIFEST_FILE,
  type MergedParts,
  mergeParts,
  partFile,
  SavePart,
  UPLOAD_FILE,
} from '@coxswain/checkpoint';
import type { CheckpointStore } from '../checkpoint-store.ts';
import { SaveDiffers } from './copy-save.ts';

/** A save below the folder in which one incarnation of a gang saves. */
export interface CalledSave {
  readonly saveDirectory: string;
  readonly directory: string;
}

/** What one pod has of a save. */
export interface PartToUpload {
  readonly folder: string;
  /** Global, ascending. */
  readonly ranks: string;
  readonly firstRank: number;
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
}

interface UploadPartOptions {
  readonly from: CheckpointStore;
  readonly to: CheckpointStore;
  readonly signal?: AbortSignal | undefined;
  /** Files that are in the bucket already. Gets each file that is uploaded, so that another try goes on. */
  readonly uploaded: Map<string, SavePart['files'][number]>;
}

/** Two pods uploaded other bytes under one path. */
export class PartsDiffer extends Error {
  constructor(path: string, [one, other]: readonly [string, string]) {
    super(`${path} was saved by ranks ${one} and by ranks ${other}, with other bytes`);
    this.name = 'PartsDiffer';
  }
}

/** What a bucket has of a save that several pods upload. */
export interface UploadedParts {
  readonly merged: Exclude<MergedParts, { kind: 'differs' }>;
  /** Files in the folder, for progress. */
  readonly listed: number;
  readonly bytes: number;
}

/** In the folder of an incarnation: one file for each save whose parts are wanted. Listing it costs one request, whatever the saves hold. */
const CALLS_FOLDER = '.coxswain-calls';
/** Text of the marker. It is the SHA-256 of no manifest, so no copy of a save takes these files for its own. */
const IN_PARTS = new TextEncoder().encode('in parts');
const FILES_AT_ONCE = 4;
const CHUNK_BYTES = 4 << 20;
const MAX_PART_LIST_BYTES = 64 << 20;

/** Marks the save as half-uploaded, and asks every pod for its part. */
export async function callForParts(store: CheckpointStore, save: CalledSave): Promise<void> {
  await store.write(`${save.saveDirectory}/${save.directory}/${UPLOAD_FILE}`, [IN_PARTS]);
  await store.write(callOf(save), [IN_PARTS]);
}

/** The save is published or given up: no pod uploads its part from now on. */
export async function endCall(store: CheckpointStore, save: CalledSave): Promise<void> {
  await store.remove([callOf(save)]);
}

/** Directories of saves whose parts are wanted. */
export async function calledSaves(store: CheckpointStore, saveDirectory: string): Promise<readonly string[]> {
  const folder = `${saveDirectory}/${CALLS_FOLDER}`;
  return (await store.list(folder)).map(({ path }) => path.slice(folder.length + 1));
}

/**
 * Files that uploads of earlier runs left and no save needs: calls, and the lists and markers beside a manifest. What belongs to a save without a manifest
 * goes with it.
 */
export function leftByUploads(files: readonly { readonly path: string }[]): readonly string[] {
  const all = new Set(files.map(({ path }) => path));
  const isLeft = (path: string): boolean => {
    const cut = path.lastIndexOf('/') + 1;
    const name = path.slice(cut);
    return (name === UPLOAD_FILE || isPartFile(name)) && all.has(`${path.slice(0, cut)}${MANIFEST_FILE}`);
  };
  return [...all].filter((path) => path.split('/').includes(CALLS_FOLDER) || isLeft(path));
}

/** Uploads the files of one pod, and then the list of them. */
export async function uploadPart(part: PartToUpload, options: UploadPartOptions): Promise<void> {
  const { folder, ranks, firstRank, files } = part;
  const { to, uploaded, signal } = options;
  const queue = files.filter(({ path }) => !uploaded.has(path));
  let failed = false;
  const work = async (): Promise<void> => {
    for (let file = queue.shift(); file !== undefined && !failed; file = queue.shift()) {
      try {
        uploaded.set(file.path, await uploadFile(folder, file, options));
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const works = await Promise.allSettled(Array.from({ length: FILES_AT_ONCE }, work));
  for (const result of works) if (result.status === 'rejected') throw result.reason;
  signal?.throwIfAborted();
  const list: SavePart = { version: 1, ranks, files: files.flatMap(({ path }) => uploaded.get(path) ?? []) };
  await to.write(`${folder}/${partFile(firstRank)}`, [new TextEncoder().encode(JSON.stringify(list))]);
}

async function uploadFile(
  folder: string,
  { path, bytes }: PartToUpload['files'][number],
  { from, to, signal }: UploadPartOptions,
): Promise<SavePart['files'][number]> {
  const hash = createHash('sha256');
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes;) {
      signal?.throwIfAborted();
      const chunk = await from.read(`${folder}/${path}`, at, Math.min(CHUNK_BYTES, bytes - at));
      if (chunk.length === 0)
        throw new SaveDiffers(`${folder}/${path}`, {
          expected: `${bytes} bytes`,
          found: `${at} bytes`,
          location: from.location,
        });
      hash.update(chunk);
      at += chunk.length;
      yield chunk;
    }
  }
  await to.write(`${folder}/${path}`, chunks());
  return { path, bytes, sha256: hash.digest('hex') };
}

/**
 * Reads what the pods have uploaded. `read`: lists that were read before, which are not read again.
 * @throws PartsDiffer if two pods uploaded other bytes under one path.
 */
export async function readParts(
  store: CheckpointStore,
  { folder, worldSize }: { readonly folder: string; readonly worldSize: number },
  read: Map<string, SavePart> = new Map(),
): Promise<UploadedParts> {
  const files = await store.list(folder);
  const sizes = new Map(files.map(({ path, bytes }) => [path.slice(folder.length + 1), bytes]));
  const lists = files.filter(({ path }) => isPartFile(path.slice(folder.length + 1)));
  const parts = await Promise.all(
    lists.map(async ({ path, bytes, writtenMs }) => {
      const key = [path, bytes, writtenMs].join(' ');
      const part = read.get(key) ?? (await readPart(store, path, bytes));
      read.set(key, part);
      return part;
    }),
  );
  const merged = mergeParts(parts, worldSize);
  if (merged.kind === 'differs') throw new PartsDiffer(merged.path, merged.pods);
  const unlisted = merged.kind === 'whole' ? describeUnlisted(merged, sizes) : undefined;
  if (unlisted !== undefined) throw new Error(`${store.location}/${folder} lists a file that it lacks: ${unlisted}`);
  return { merged, listed: files.length, bytes: files.reduce((sum, file) => sum + file.bytes, 0) };
}

async function readPart(store: CheckpointStore, path: string, bytes: number): Promise<SavePart> {
  const text = await store.read(path, 0, Math.min(bytes, MAX_PART_LIST_BYTES));
  return SavePart.parse(JSON.parse(new TextDecoder().decode(text)));
}

/** Publishes a save whose parts are all there: its manifest, if none is there, and then the end of marker and lists. */
export async function publishParts(store: CheckpointStore, folder: string, manifest: string): Promise<void> {
  const path = `${folder}/${MANIFEST_FILE}`;
  const text = new TextEncoder().encode(manifest);
  if (!(await store.write(path, [text], { ifAbsent: true }))) {
    const expected = createHash('sha256').update(text).digest('hex');
    const other = await store.read(path, 0, text.length + 1);
    const found = createHash('sha256').update(other).digest('hex');
    if (found !== expected)
      throw new SaveDiffers(path, {
        expected: `SHA-256 ${expected}`,
        found: `SHA-256 ${found}`,
        location: store.location,
      });
  }
  const lists = (await store.list(folder)).filter((file) => isPartFile(file.path.slice(folder.length + 1)));
  await store.remove([...lists.map((file) => file.path), `${folder}/${UPLOAD_FILE}`]);
}

function callOf({ saveDirectory, directory }: CalledSave): string {
  return `${saveDirectory}/${CALLS_FOLDER}/${directory}`;
}
