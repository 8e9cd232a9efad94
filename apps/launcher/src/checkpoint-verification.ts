import { createHash } from 'node:crypto';
import { lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { SavedCheckpoint } from '@coxswain/api-types';
import { CheckpointManifest, MANIFEST_FILE, manifestViolations, type FileOnDisk } from '@coxswain/checkpoint';
import { z } from 'zod';
import type { SavedFact } from './engine-facts.ts';

/** A manifest of 16,384 ranks with three files each has about 8 MB. */
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;
const FILES_AT_ONCE = 16;

export type Verification<T> =
  | { readonly kind: 'verified'; readonly value: T }
  /** `why` completes a sentence. */
  | { readonly kind: 'refused'; readonly why: string };

class Refusal extends Error {}

/**
 * Whether the directory holds what its manifest says: the manifest has this SHA-256, and every file that it lists is there with its
 * size. Reads no file but the manifest. The engine checks contents when it loads.
 */
export async function verifyCheckpoint(
  directory: string,
  manifestSha256: string,
): Promise<
  Verification<{ readonly step: number; readonly format: string; readonly files: number; readonly bytes: number }>
> {
  return await verified(async () => {
    const manifest = await readManifest(directory, manifestSha256);
    const [violation] = manifestViolations(manifest, await sizesOnDisk(directory, manifest.files));
    if (violation !== undefined) throw new Refusal(`in ${directory}, ${violation}`);
    const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
    return { step: manifest.step, format: manifest.format, files: manifest.files.length, bytes };
  });
}

/** Whether the checkpoint that an engine claims to have saved below `saveDirectory` is really there; gives what to report. */
export async function verifySaved(saveDirectory: string, fact: SavedFact): Promise<Verification<SavedCheckpoint>> {
  const seen = await verifyCheckpoint(join(saveDirectory, fact.directory), fact.manifestSha256);
  if (seen.kind === 'refused') return seen;
  const { step, files, bytes, format } = seen.value;
  if (step !== fact.step)
    return { kind: 'refused', why: `the manifest says step ${step}, the engine said ${fact.step}` };
  return {
    kind: 'verified',
    // Sizes as on disk, not as claimed.
    value: { step, directory: fact.directory, format, bytes, files, manifestSha256: fact.manifestSha256 },
  };
}

async function readManifest(directory: string, sha256: string): Promise<CheckpointManifest> {
  const path = join(directory, MANIFEST_FILE);
  const bytes = await readBounded(path);
  const seen = createHash('sha256').update(bytes).digest('hex');
  if (seen !== sha256) throw new Refusal(`${path} has SHA-256 ${seen}, not ${sha256}`);
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new Refusal(`${path} is not JSON`);
  }
  const parsed = CheckpointManifest.safeParse(json);
  if (!parsed.success) throw new Refusal(`${path} is no manifest: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

async function readBounded(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size > MAX_MANIFEST_BYTES)
      throw new Refusal(`${path} has ${size} bytes; at most ${MAX_MANIFEST_BYTES} are read`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** What is there of `files`, each once; what is not a regular file counts as missing, so that a link leads nowhere. */
async function sizesOnDisk(directory: string, files: CheckpointManifest['files']): Promise<readonly FileOnDisk[]> {
  const found: FileOnDisk[] = [];
  for (let start = 0; start < files.length; start += FILES_AT_ONCE) {
    const some = files.slice(start, start + FILES_AT_ONCE);
    found.push(...(await Promise.all(some.map(({ path }) => sizeOnDisk(directory, path)))).flat());
  }
  return found;
}

async function sizeOnDisk(directory: string, path: string): Promise<readonly FileOnDisk[]> {
  try {
    const stats = await lstat(join(directory, path));
    return stats.isFile() ? [{ path, bytes: stats.size }] : [];
  } catch {
    return [];
  }
}

async function verified<T>(check: () => Promise<T>): Promise<Verification<T>> {
  try {
    return { kind: 'verified', value: await check() };
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'refused', why: error.message };
    return { kind: 'refused', why: `it cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
}
