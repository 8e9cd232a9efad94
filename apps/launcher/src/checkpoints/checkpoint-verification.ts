/** Verifies that the checkpoint on disk is the one that was saved. If it cannot be read, finds whether the file or its mount is the cause. */
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { type CheckpointFault, describeFault, type SavedCheckpoint } from '@coxswain/api-types';
import { CheckpointManifest, filesOfRanks, MANIFEST_FILE, type RanksOfGang } from '@coxswain/checkpoint';
import { z } from 'zod';
import { type CheckpointFiles, errnoOf, realFiles, TooLong } from './checkpoint-files.ts';
import type { SavedFact } from '../facts/engine-facts.ts';

/** A manifest of 16,384 ranks with three files each has about 8 MB. */
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;
const FILES_AT_ONCE = 16;
/** A network file system after a failover answers ESTALE once, and an old name for some seconds. */
const TRIES = 3;
const PAUSE_MS = 1_000;
const MAX_PATH_CHARACTERS = 256;

/** Result of a verification: the value, or why the checkpoint cannot be used. */
export type Verification<T> =
  | { readonly kind: 'verified'; readonly value: T }
  /** `why` completes a sentence. Without a fault neither content nor file system is to blame: this program cannot read the manifest. */
  | { readonly kind: 'refused'; readonly why: string; readonly fault?: CheckpointFault };

/** A checkpoint to verify, as its Checkpoint resource describes it. */
export interface CheckpointOnDisk {
  readonly directory: string;
  readonly manifestSha256: string;
}

interface VerifyOptions {
  /** Checks only the files that these ranks are responsible for; absent: every file. */
  readonly ranks?: RanksOfGang;
  readonly files?: CheckpointFiles;
}

interface VerifiedFiles {
  readonly manifest: CheckpointManifest;
  /** Number of files that were checked. */
  readonly files: number;
}

/** A finding that ends the verification. */
class Finding extends Error {
  readonly fault: CheckpointFault | undefined;

  constructor(about: string | CheckpointFault) {
    super(typeof about === 'string' ? about : describeFault(about));
    this.fault = typeof about === 'string' ? undefined : about;
  }
}

/**
 * Verifies the directory against its manifest: the manifest has this SHA-256, and every listed file exists with its size. Reads no
 * file but the manifest; the engine checks contents when it loads. Retries before it rejects, because a verdict on content is
 * permanent.
 */
export async function verifyCheckpoint(
  { directory, manifestSha256 }: CheckpointOnDisk,
  { ranks, files = realFiles }: VerifyOptions = {},
): Promise<Verification<VerifiedFiles>> {
  for (let tried = 1; ; tried++) {
    const seen = await verifyOnce({ directory, manifestSha256 }, { ranks, files });
    if (seen.kind === 'verified' || tried === TRIES) return seen;
    await files.pause(PAUSE_MS);
  }
}

/** Verifies the checkpoint that an engine claims to have saved below `saveDirectory`, and returns what to report. */
export async function verifySaved(
  saveDirectory: string,
  fact: SavedFact,
  files: CheckpointFiles = realFiles,
): Promise<Verification<SavedCheckpoint>> {
  const { directory, manifestSha256 } = fact;
  const seen = await verifyOnce({ directory: join(saveDirectory, directory), manifestSha256 }, { files });
  if (seen.kind === 'refused') return seen;
  const { step, format, files: listed } = seen.value.manifest;
  if (step !== fact.step)
    return { kind: 'refused', why: `the manifest has step ${step}, the engine reported ${fact.step}` };
  const bytes = listed.reduce((sum, file) => sum + file.bytes, 0);
  // Sizes as on disk, not as claimed.
  return { kind: 'verified', value: { step, directory, format, bytes, files: listed.length, manifestSha256 } };
}

async function verifyOnce(
  { directory, manifestSha256 }: CheckpointOnDisk,
  { ranks, files }: { readonly ranks?: RanksOfGang | undefined; readonly files: CheckpointFiles },
): Promise<Verification<VerifiedFiles>> {
  try {
    const manifest = await readManifest({ directory, manifestSha256 }, files);
    const own = ranks === undefined ? manifest.files : filesOfRanks(manifest.files, ranks);
    for (let start = 0; start < own.length; start += FILES_AT_ONCE) {
      await Promise.all(own.slice(start, start + FILES_AT_ONCE).map((file) => checkSize(directory, file, files)));
    }
    return { kind: 'verified', value: { manifest, files: own.length } };
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    const { fault, message } = error;
    return { kind: 'refused', why: message, ...(fault === undefined ? {} : { fault }) };
  }
}

async function readManifest(
  { directory, manifestSha256 }: CheckpointOnDisk,
  files: CheckpointFiles,
): Promise<CheckpointManifest> {
  const path = join(directory, MANIFEST_FILE);
  const bytes = await reaching(path, { directory, files }, () => files.read(path, MAX_MANIFEST_BYTES));
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== manifestSha256) {
    throw contentDiffers(path, { expected: `SHA-256 ${manifestSha256}`, found: `SHA-256 ${found}` });
  }
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new Finding(`${path} is not JSON`);
  }
  const parsed = CheckpointManifest.safeParse(json);
  if (!parsed.success) throw new Finding(`${path} is no manifest: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** Anything but a regular file counts as changed, so that links are not followed. */
async function checkSize(
  directory: string,
  listed: CheckpointManifest['files'][number],
  files: CheckpointFiles,
): Promise<void> {
  const path = join(directory, listed.path);
  const found = await reaching(path, { directory, files }, () => files.sizeOf(path));
  if (found === listed.bytes) return;
  throw contentDiffers(path, {
    expected: `${listed.bytes} bytes`,
    found: typeof found === 'number' ? `${found} bytes` : found,
  });
}

/** Attributes a system error to the file or to its mount. */
async function reaching<T>(
  path: string,
  { directory, files }: { readonly directory: string; readonly files: CheckpointFiles },
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof TooLong) {
      throw contentDiffers(path, { expected: `at most ${MAX_MANIFEST_BYTES} bytes`, found: `${error.bytes} bytes` });
    }
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    const kind = (await isMountAlive(directory, files)) ? 'FileUnreadable' : 'MountBroken';
    throw new Finding({ kind, path: endOf(path), errno });
  }
}

/**
 * Whether the checkpoint's directory, or its parent, can be read. A missing mount looks like an empty directory, so an empty directory
 * proves nothing.
 */
async function isMountAlive(directory: string, files: CheckpointFiles): Promise<boolean> {
  for (const place of [directory, dirname(directory)]) {
    try {
      if ((await files.namesIn(place)).length > 0) return true;
    } catch {
      // The parent directory may be readable.
    }
  }
  return false;
}

function contentDiffers(
  path: string,
  { expected, found }: { readonly expected: string; readonly found: string },
): Finding {
  return new Finding({ kind: 'ContentDiffers', path: endOf(path), expected, found });
}

/** The end of a long path. */
export function endOf(path: string): string {
  return path.length <= MAX_PATH_CHARACTERS ? path : `…${path.slice(1 - MAX_PATH_CHARACTERS)}`;
}
