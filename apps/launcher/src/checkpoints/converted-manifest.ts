/** The manifest of a save that was made from another one. Engines and launchers take a save that has one by it. */
import { createHash } from 'node:crypto';
import {
  CheckpointManifest,
  CONVERSION_FILE,
  MANIFEST_FILE,
  parsePythonJson,
  RESHARD_FILE,
} from '@coxswain/checkpoint';
import type { CheckpointStore } from '@coxswain/checkpoint-store';

const MAX_MANIFEST_BYTES = 64 << 20;
/** Read once more for their SHA-256. The formats have checksums of their own for what is larger in all. */
const MAX_HASHED_BYTES = 64 * 2 ** 30;
const PART_BYTES = 4 << 20;
const OWN_FILES: ReadonlySet<string> = new Set([MANIFEST_FILE, CONVERSION_FILE, RESHARD_FILE]);

/**
 * Writes the manifest of the new save last, if the old save has one: the same, with other files. Returns its SHA-256. `format`: if the new save is of another
 * one. `isPart`: whether a file or folder at its top belongs to it; default: all do.
 */
export async function writeManifest(
  source: CheckpointStore,
  target: CheckpointStore,
  { format, isPart = () => true }: { readonly format?: string; readonly isPart?: (name: string) => boolean } = {},
): Promise<string | undefined> {
  const before = await readManifest(source);
  if (before === undefined) return undefined;
  const listed = (await target.list()).filter(
    ({ path, isLink }) => !OWN_FILES.has(path) && isLink !== true && isPart(path.split('/')[0] ?? ''),
  );
  const isHashed = listed.reduce((sum, { bytes }) => sum + bytes, 0) <= MAX_HASHED_BYTES;
  const files: CheckpointManifest['files'] = [];
  for (const { path, bytes } of listed.toSorted((one, other) => (one.path < other.path ? -1 : 1)))
    files.push({ path, bytes, ...(isHashed ? { sha256: await sha256Of(target, path, bytes) } : {}) });
  const text = Buffer.from(`${JSON.stringify({ ...before, ...(format === undefined ? {} : { format }), files })}\n`);
  await target.write(MANIFEST_FILE, [text]);
  return createHash('sha256').update(text).digest('hex');
}

/** SHA-256 of the manifest of a save, if it has one. `folder`: of the store; default: the save is the whole store. */
export async function manifestSha256(store: CheckpointStore, folder?: string): Promise<string | undefined> {
  const manifest = folder === undefined ? MANIFEST_FILE : `${folder}/${MANIFEST_FILE}`;
  const file = (await store.list(folder)).find(({ path }) => path === manifest);
  return file === undefined ? undefined : await sha256Of(store, manifest, file.bytes);
}

/** undefined: the save has none. One that cannot be read was found when the save was verified. */
async function readManifest(source: CheckpointStore): Promise<CheckpointManifest | undefined> {
  const file = (await source.list()).find(({ path }) => path === MANIFEST_FILE);
  if (file === undefined || file.bytes > MAX_MANIFEST_BYTES) return undefined;
  const text = new TextDecoder().decode(await source.read(MANIFEST_FILE, 0, file.bytes));
  const content = parsePythonJson(text);
  return CheckpointManifest.safeParse(content).success ? (content as CheckpointManifest) : undefined;
}

async function sha256Of(store: CheckpointStore, path: string, bytes: number): Promise<string> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes; at += PART_BYTES)
    hash.update(await store.read(path, at, Math.min(PART_BYTES, bytes - at)));
  return hash.digest('hex');
}
