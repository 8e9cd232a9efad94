/** Verifies a save where it is in its bucket: it reads ranges of objects, and downloads no file that the level does not need. */
import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { crc32 } from 'node:zlib';
import { POD_PATHS, type VerificationLevel } from '@coxswain/api-types';
import {
  CheckpointManifest,
  fileListSha256,
  hasReader,
  MANIFEST_FILE,
  type StoredFile,
  verifySave,
} from '@coxswain/checkpoint';
import { type CheckpointStore, runReading } from '@coxswain/checkpoint-store';
import type { AdoptedInspection } from '../checkpoints/inspect-adopted.ts';
import { checkRoom, inspectionOf, isBroken, type SaveInspection } from '../checkpoints/inspect-save.ts';
import { messageOf } from './bucket-saves.ts';
import { retryUnreachable } from './retry-unreachable.ts';

/** A save as a worker is asked about it. */
export interface SaveInBucket {
  /** As the worker would see it on a claim: below the checkpoint mount. */
  readonly directory: string;
  /** Absent: an adopted checkpoint. Every file below its folder belongs to it. */
  readonly manifestSha256?: string | undefined;
}

type Found = SaveInspection & Partial<AdoptedInspection>;

const MAX_MANIFEST_BYTES = 64 << 20;

/** Rejects if the save cannot be read: the store does not answer, or the manifest is not the recorded one. Then nothing proves anything of the save. */
export async function verifyInBucket(
  store: CheckpointStore,
  { directory, manifestSha256 }: SaveInBucket,
  { level, pause }: { readonly level: VerificationLevel; readonly pause?: (ms: number) => Promise<unknown> },
): Promise<Found> {
  const folder = relative(POD_PATHS.checkpoints, directory);
  const verify = (): Promise<Found> =>
    manifestSha256 === undefined
      ? verifyAdopted(store, folder, level)
      : verifyOwn(store, { folder, manifestSha256 }, level);
  try {
    return await retryUnreachable(async () => {
      const found = await verify();
      // An object can be replaced while it is read.
      return isBroken(found.verification) ? await verify() : found;
    }, pause);
  } catch (error) {
    throw new Error(messageOf(error), { cause: error });
  }
}

async function verifyOwn(
  store: CheckpointStore,
  { folder, manifestSha256 }: { readonly folder: string; readonly manifestSha256: string },
  level: VerificationLevel,
): Promise<Found> {
  const all = await filesOf(store, folder);
  const text = await readManifest(store, folder, all);
  const found = createHash('sha256').update(text).digest('hex');
  if (found !== manifestSha256)
    throw new Error(
      `${store.location}/${folder}/${MANIFEST_FILE} has SHA-256 ${found}, and ${manifestSha256} was recorded`,
    );
  const manifest = CheckpointManifest.parse(JSON.parse(new TextDecoder().decode(text)));
  if (!hasReader(manifest.format)) return {};
  const own = new Set([MANIFEST_FILE, ...manifest.files.map(({ path }) => path)]);
  return await look(store, { folder, files: all.filter(({ path }) => own.has(path)) }, level);
}

/** If files change meanwhile, another program still writes there, and nothing is found. */
async function verifyAdopted(store: CheckpointStore, folder: string, level: VerificationLevel): Promise<Found> {
  const files = await filesOf(store, folder);
  if (files.length === 0) throw new Error(`${store.location}/${folder} holds no object`);
  const sha256 = fileListSha256(files, createHash('sha256'));
  const inspection = await look(store, { folder, files }, level);
  const hasManifest = files.some(({ path }) => path === MANIFEST_FILE);
  const manifest = hasManifest ? await readManifest(store, folder, files) : undefined;
  if (fileListSha256(await filesOf(store, folder), createHash('sha256')) !== sha256)
    throw new Error(
      `files of ${store.location}/${folder} changed while they were read; adopt a checkpoint that is complete`,
    );
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const known = manifest === undefined ? {} : { manifestSha256: createHash('sha256').update(manifest).digest('hex') };
  return { ...inspection, files: { count: files.length, bytes, sha256, ...known } };
}

async function look(
  store: CheckpointStore,
  { folder, files }: { readonly folder: string; readonly files: readonly StoredFile[] },
  level: VerificationLevel,
): Promise<SaveInspection> {
  let readBytes = 0;
  const within = {
    isRemote: store.isRemote,
    read: async (path: string, offset: number, length: number): Promise<Uint8Array> => {
      const bytes = await store.read(`${folder}/${path}`, offset, length);
      readBytes += bytes.length;
      return bytes;
    },
  };
  const found = await runReading(
    within,
    files,
    verifySave(files, { level, crc32, sha256: () => createHash('sha256') }),
    { beforeRead: checkRoom },
  );
  return inspectionOf(found, { level, by: 'Worker', readBytes });
}

async function readManifest(store: CheckpointStore, folder: string, files: readonly StoredFile[]): Promise<Uint8Array> {
  const listed = files.find(({ path }) => path === MANIFEST_FILE);
  const place = `${store.location}/${folder}`;
  if (listed === undefined) throw new Error(`${place} has no ${MANIFEST_FILE}`);
  if (listed.bytes > MAX_MANIFEST_BYTES) throw new Error(`${place}/${MANIFEST_FILE} is too large for a manifest`);
  return await store.read(`${folder}/${MANIFEST_FILE}`, 0, listed.bytes);
}

/** With paths relative to the folder. */
async function filesOf(store: CheckpointStore, folder: string): Promise<readonly StoredFile[]> {
  return (await store.list(folder)).map((file) => ({ ...file, path: file.path.slice(folder.length + 1) }));
}
