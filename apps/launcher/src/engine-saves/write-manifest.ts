/** Turns a save in the engine's own format into a checkpoint: writes a manifest that names every file, last. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SavedBy } from '@coxswain/api-types';
import { CheckpointManifest, MANIFEST_FILE, type EngineFormat, type EngineSave } from '@coxswain/checkpoint';
import type { SavedFact } from '../facts/engine-facts.ts';
import type { HashBudget } from './hash-budget.ts';
import { unlessGone, type FoundFile } from '../checkpoints/saved-files.ts';

const PART_BYTES = 1024 * 1024;

/** Where and for which format a manifest is written, and how much may be hashed for it. */
export interface ManifestOptions {
  readonly saveDirectory: string;
  readonly format: EngineFormat;
  readonly savedBy: SavedBy;
  readonly budget: HashBudget;
  /** Called whenever the file system has answered. */
  readonly onAnswer: () => void;
}

type Reading = Pick<ManifestOptions, 'budget' | 'onAnswer'>;

/** What became of writing a manifest. The fact is what the launcher reports to the operator. */
export type Written =
  | { readonly kind: 'written'; readonly fact: SavedFact }
  /** A file is gone or has changed since the scan. */
  | { readonly kind: 'changed' }
  /** A file that Coxswain did not write has the name of the manifest. */
  | { readonly kind: 'taken' };

/**
 * Writes the manifest into the engine's own directory. Engines ignore it, because each reads files by name: PyTorch DCP those that .metadata lists,
 * DeepSpeed and Megatron-LM by pattern, the Trainer one by one. An engine that deletes a save deletes the manifest with it. Every file is on disk before
 * the manifest is, and the manifest appears whole or not at all. A manifest that an earlier launcher wrote is kept.
 */
export async function writeManifest(
  save: EngineSave,
  files: readonly FoundFile[],
  options: ManifestOptions,
): Promise<Written> {
  const directory = join(options.saveDirectory, save.directory);
  const before = await manifestIn(directory);
  if (before === 'of somebody else') return { kind: 'taken' };
  if (before !== undefined && isOf(before.manifest, save, files))
    return { kind: 'written', fact: factOf(save, before.manifest, before.text) };
  const listed = await unlessGone(() => digests(directory, files, options));
  if (listed === undefined) return { kind: 'changed' };
  const manifest: CheckpointManifest = {
    formatVersion: 1,
    engine: options.savedBy.engine,
    format: options.format,
    step: save.step,
    layout: options.savedBy.layout,
    training: {},
    files: listed,
  };
  const text = JSON.stringify(manifest);
  const isThere = await unlessGone(async () => {
    await putInPlace(directory, text);
    return true;
  });
  return isThere === true ? { kind: 'written', fact: factOf(save, manifest, text) } : { kind: 'changed' };
}

/** Each file as it goes into the manifest; undefined where one has changed. */
async function digests(
  directory: string,
  files: readonly FoundFile[],
  reading: Reading,
): Promise<CheckpointManifest['files'] | undefined> {
  const listed: CheckpointManifest['files'] = [];
  for (const { path, bytes } of files) {
    const file = await open(join(directory, path), constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const sha256 = await digestOf(file, bytes, reading);
      if ((await file.stat()).size !== bytes) return undefined;
      // Engines leave it to the system when their bytes reach the disk.
      await file.sync();
      reading.onAnswer();
      listed.push({ path, bytes, ...(sha256 === undefined ? {} : { sha256 }) });
    } finally {
      await file.close();
    }
  }
  return listed;
}

/** undefined where the budget does not last for all of it. */
async function digestOf(file: FileHandle, bytes: number, { budget, onAnswer }: Reading): Promise<string | undefined> {
  const hash = createHash('sha256');
  const part = Buffer.allocUnsafe(Math.min(PART_BYTES, bytes));
  for (let read = 0; read < bytes;) {
    if (budget.isSpent) return undefined;
    const { bytesRead } = await file.read(part, 0, part.length, read);
    if (bytesRead === 0) return undefined;
    hash.update(part.subarray(0, bytesRead));
    read += bytesRead;
    onAnswer();
    await budget.spend(bytesRead);
  }
  return hash.digest('hex');
}

async function manifestIn(
  directory: string,
): Promise<{ readonly manifest: CheckpointManifest; readonly text: string } | 'of somebody else' | undefined> {
  const text = await unlessGone(() => readFile(join(directory, MANIFEST_FILE), 'utf8'));
  if (text === undefined) return undefined;
  try {
    return { manifest: CheckpointManifest.parse(JSON.parse(text)), text };
  } catch {
    return 'of somebody else';
  }
}

function isOf(manifest: CheckpointManifest, { step }: EngineSave, files: readonly FoundFile[]): boolean {
  const sizes = new Map(files.map(({ path, bytes }) => [path, bytes]));
  return (
    manifest.step === step &&
    manifest.files.length === files.length &&
    manifest.files.every(({ path, bytes }) => sizes.get(path) === bytes)
  );
}

async function putInPlace(directory: string, text: string): Promise<void> {
  const scratch = join(directory, `${MANIFEST_FILE}.unfinished`);
  try {
    const file = await open(scratch, 'w', 0o644);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(scratch, join(directory, MANIFEST_FILE));
  } catch (error) {
    await rm(scratch, { force: true });
    throw error;
  }
  const folder = await open(directory, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function factOf({ step, directory }: EngineSave, { files }: CheckpointManifest, text: string): SavedFact {
  return {
    kind: 'checkpointSaved',
    step,
    directory,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    files: files.length,
    manifestSha256: createHash('sha256').update(text).digest('hex'),
  };
}
