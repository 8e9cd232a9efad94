import { createHash } from 'node:crypto';
import { CheckpointManifest, describeUnlisted, MANIFEST_FILE, UPLOAD_FILE } from '@coxswain/checkpoint';
import type { CheckpointStore } from '../checkpoint-store.ts';
import { chunksOf, copyInOrder, writeOnce } from './copy-steps.ts';

/** A save, and the SHA-256 of the manifest that lists its files. */
export interface SaveToCopy {
  /** The same in both stores. */
  readonly folder: string;
  readonly manifestSha256: string;
}

/** Where a save is copied from and to. */
export interface CopyOptions {
  readonly from: CheckpointStore;
  readonly to: CheckpointStore;
  /** Ends the copy, which can be repeated later. */
  readonly signal?: AbortSignal | undefined;
  /** Bytes that were copied, and all bytes of the save. */
  readonly onProgress?: (copied: number, all: number) => void;
}

/** A file of the save is not what its manifest says. */
export class SaveDiffers extends Error {
  readonly path: string;
  readonly expected: string;
  readonly found: string;

  constructor(path: string, { expected, found, location }: Differing) {
    super(`${path} in ${location} has ${found}, not ${expected}`);
    this.name = 'SaveDiffers';
    this.path = path;
    this.expected = expected;
    this.found = found;
  }
}

interface Differing {
  readonly expected: string;
  readonly found: string;
  readonly location: string;
}

type ManifestFile = CheckpointManifest['files'][number];

/** A file in a store costs two parts of 16 MiB of memory while it is copied. */
const FILES_AT_ONCE = 4;
/** A manifest of 16,384 ranks with three files each has about 8 MB. */
const MAX_MANIFEST_BYTES = 64 << 20;

/**
 * Copies a save: first a marker, then every file, and the manifest last, if the other store lists each file with its size. So a save without a
 * manifest is no save. It can be repeated after any interruption, and copies only what is not there. Every byte that is copied is compared with the SHA-256
 * that the manifest has.
 * @throws SaveDiffers if a file is not what the manifest says; StoreError if a store does not answer.
 */
export async function copySave({ folder, manifestSha256 }: SaveToCopy, options: CopyOptions): Promise<void> {
  const { from, to } = options;
  const manifestPath = `${folder}/${MANIFEST_FILE}`;
  const sources = await filesIn(from, folder);
  const text = await readManifest(from, { folder, manifestSha256, bytes: sources.get(MANIFEST_FILE) });
  const manifest = parseManifest(text);
  const there = await filesIn(to, folder);
  if (there.has(MANIFEST_FILE)) await readManifest(to, { folder, manifestSha256, bytes: there.get(MANIFEST_FILE) });
  const isOfThisSave = there.has(MANIFEST_FILE) || (await isMarkedFor(to, folder, manifestSha256));
  const wanted = manifest.files.filter(({ path, bytes }) => !isOfThisSave || there.get(path) !== bytes);
  const marker = `${folder}/${UPLOAD_FILE}`;
  if (wanted.length > 0 || !there.has(MANIFEST_FILE)) {
    // A file of another save could have the same size.
    if (!isOfThisSave) await to.remove(wanted.flatMap(({ path }) => (there.has(path) ? `${folder}/${path}` : [])));
    await to.write(marker, [new TextEncoder().encode(manifestSha256)]);
    await copyInOrder({
      writeData: () => copyFiles(wanted, { ...options, folder, sources }),
      verify: () => requireListed(manifest, { to, folder }),
      publish: async () => {
        const requireEqual = async (): Promise<void> =>
          void (await readManifest(to, { folder, manifestSha256, bytes: text.length }));
        await writeOnce(to, { path: manifestPath, chunks: () => [text], requireEqual });
      },
      signal: options.signal,
    });
  }
  await to.remove([marker]);
}

async function requireListed(
  manifest: CheckpointManifest,
  { to, folder }: Pick<CopyOptions, 'to'> & Pick<SaveToCopy, 'folder'>,
): Promise<void> {
  const missing = describeUnlisted(manifest, await filesIn(to, folder));
  if (missing !== undefined) throw new Error(`${to.location}/${folder} is not complete after the copy: ${missing}`);
}

/** Whether a store has the manifest, and each file that it lists with its size. */
export async function hasSave(store: CheckpointStore, save: SaveToCopy): Promise<boolean> {
  try {
    const files = await filesIn(store, save.folder);
    const text = await readManifest(store, { ...save, bytes: files.get(MANIFEST_FILE) });
    return describeUnlisted(parseManifest(text), files) === undefined;
  } catch (error) {
    if (error instanceof SaveDiffers) return false;
    throw error;
  }
}

function parseManifest(text: Uint8Array): CheckpointManifest {
  return CheckpointManifest.parse(JSON.parse(new TextDecoder().decode(text)));
}

/** Sizes by path below the folder. */
async function filesIn(store: CheckpointStore, folder: string): Promise<ReadonlyMap<string, number>> {
  const files = await store.list(folder);
  return new Map(
    files.filter(({ isLink }) => isLink !== true).map(({ path, bytes }) => [path.slice(folder.length + 1), bytes]),
  );
}

async function readManifest(
  store: CheckpointStore,
  { folder, manifestSha256, bytes }: SaveToCopy & { readonly bytes: number | undefined },
): Promise<Uint8Array> {
  const path = `${folder}/${MANIFEST_FILE}`;
  const expected = `SHA-256 ${manifestSha256}`;
  const { location } = store;
  if (bytes === undefined) throw new SaveDiffers(path, { expected, found: 'no file', location });
  const text = await store.read(path, 0, Math.min(bytes, MAX_MANIFEST_BYTES));
  const found = createHash('sha256').update(text).digest('hex');
  if (found !== manifestSha256) throw new SaveDiffers(path, { expected, found: `SHA-256 ${found}`, location });
  return text;
}

async function isMarkedFor(store: CheckpointStore, folder: string, manifestSha256: string): Promise<boolean> {
  if (!(await filesIn(store, folder)).has(UPLOAD_FILE)) return false;
  const text = await store.read(`${folder}/${UPLOAD_FILE}`, 0, manifestSha256.length);
  return new TextDecoder().decode(text) === manifestSha256;
}

interface Copying extends CopyOptions {
  readonly folder: string;
  readonly sources: ReadonlyMap<string, number>;
}

async function copyFiles(wanted: readonly ManifestFile[], copying: Copying): Promise<void> {
  const all = wanted.reduce((sum, { bytes }) => sum + bytes, 0);
  const queue = [...wanted];
  let copied = 0;
  let failed = false;
  const onBytes = (bytes: number): void => copying.onProgress?.((copied += bytes), all);
  const work = async (): Promise<void> => {
    for (let file = queue.shift(); file !== undefined && !failed; file = queue.shift()) {
      try {
        await copyFile(file, copying, onBytes);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await allSettled(Array.from({ length: FILES_AT_ONCE }, work));
}

/** Waits for all, so that nothing is written after the first error was reported. */
async function allSettled(works: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(works)) if (result.status === 'rejected') throw result.reason;
}

async function copyFile(
  file: ManifestFile,
  { from, to, folder, sources, signal }: Copying,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const path = `${folder}/${file.path}`;
  const differs = (expected: string, found: string): SaveDiffers =>
    new SaveDiffers(path, { expected, found, location: from.location });
  const found = sources.get(file.path);
  if (found !== file.bytes) throw differs(`${file.bytes} bytes`, found === undefined ? 'no file' : `${found} bytes`);
  await to.write(path, chunksOf(from, { ...file, path }, { onBytes, signal, differs }));
}
