/** Verifies that the checkpoint on disk is the one that was saved. If it cannot be read, finds whether the file or its mount is the cause. */
import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { type CheckpointFault, describeFault, type SavedCheckpoint } from '@coxswain/api-types';
import { CheckpointManifest, filesOfRanks, MANIFEST_FILE, type RanksOfGang } from '@coxswain/checkpoint';
import { z } from 'zod';
import { type CheckpointFiles, errnoOf, realFiles, TooLong } from './checkpoint-files.ts';
import { judgeFault, readControl } from './control-file.ts';
import { fileListOf } from './file-list.ts';
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
  | Refused;

interface Refused {
  readonly kind: 'refused';
  readonly why: string;
  readonly fault?: CheckpointFault;
  /** The file of the fault, if `fault.path` is only its end. */
  readonly file?: string;
}

/** A checkpoint to verify, as its Checkpoint resource describes it. */
export interface CheckpointOnDisk {
  readonly directory: string;
  readonly manifestSha256: string;
  /** SHA-256 of the list of its files, for a checkpoint without a manifest. */
  readonly filesSha256?: string | undefined;
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
  readonly file: string | undefined;

  constructor(about: string | CheckpointFault, file?: string) {
    super(typeof about === 'string' ? about : describeFault(about));
    this.fault = typeof about === 'string' ? undefined : about;
    this.file = file;
  }
}

/**
 * Verifies the directory against its manifest: the manifest has this SHA-256, and every listed file exists with its size. Reads no
 * file but the manifest; the engine checks contents when it loads. Retries before it rejects, the last time between two readings of a
 * control file, because content is to blame only where storage reads right.
 */
export async function verifyCheckpoint(
  checkpoint: CheckpointOnDisk,
  { ranks, files = realFiles }: VerifyOptions = {},
): Promise<Verification<unknown>> {
  const { directory, filesSha256 } = checkpoint;
  const verify = (): Promise<Verification<unknown>> =>
    filesSha256 === undefined
      ? verifyOnce(checkpoint, { ranks, files })
      : asVerification(() => checkFileList(directory, filesSha256, files));
  for (let tried = 1; tried < TRIES; tried++) {
    const seen = await verify();
    if (seen.kind === 'verified') return seen;
    await files.pause(PAUSE_MS);
  }
  return await besideControl(directory, files, verify);
}

/**
 * Verifies a suspect checkpoint, for all ranks: sizes, and the whole content of the files in doubt. `filesInDoubt`: as containers see them, of a long path the
 * end.
 */
export async function verifySuspect(
  checkpoint: CheckpointOnDisk,
  filesInDoubt: readonly string[],
  files: CheckpointFiles = realFiles,
): Promise<Verification<VerifiedFiles>> {
  const seen = await verifyOnce(checkpoint, { files });
  if (seen.kind === 'refused') return seen;
  return await asVerification(async () => {
    for (const entry of entriesAt(seen.value.manifest, checkpoint.directory, filesInDoubt)) {
      const problem = await contentProblem(checkpoint.directory, entry, files);
      if (problem !== undefined) throw problem;
    }
    return seen.value;
  });
}

/**
 * The fault that an engine reported when it loaded the checkpoint, after the file was read again between two readings of a control file. Content that this
 * program reads as it was saved is no evidence against the checkpoint.
 */
export async function confirmFault(
  checkpoint: CheckpointOnDisk,
  reported: CheckpointFault,
  files: CheckpointFiles = realFiles,
): Promise<CheckpointFault> {
  const { path, expected = 'what was saved', found = 'another content' } = reported;
  const seen = await besideControl<CheckpointFault>(checkpoint.directory, files, () =>
    asVerification(async () => {
      const manifest = await readManifest(checkpoint, files);
      const [entry] = entriesAt(manifest, checkpoint.directory, [path]);
      const problem = entry === undefined ? undefined : await contentProblem(checkpoint.directory, entry, files);
      if (problem !== undefined) throw problem;
      if (reported.kind !== 'ContentDiffers' || entry?.sha256 === undefined) throw new Finding(reported, path);
      return { kind: 'FileUnreadable', path, expected, found };
    }),
  );
  return seen.kind === 'verified' ? seen.value : (seen.fault ?? reported);
}

/** Judges a refusal by a control file that is read before and after the verification. */
async function besideControl<T>(
  directory: string,
  files: CheckpointFiles,
  verify: () => Promise<Verification<T>>,
): Promise<Verification<T>> {
  const before = await readControl(directory, files);
  const seen = await verify();
  if (seen.kind === 'verified' || seen.fault === undefined) return seen;
  const isListed = seen.file === undefined ? undefined : await isNameListed(seen.file, files);
  const after = await readControl(directory, files);
  const fault = judgeFault(seen.fault, [before, after], isListed);
  return { kind: 'refused', why: describeFault(fault), fault };
}

/** undefined: the directory cannot be listed. */
async function isNameListed(path: string, files: CheckpointFiles): Promise<boolean | undefined> {
  try {
    return (await files.namesIn(dirname(path))).includes(basename(path));
  } catch {
    return undefined;
  }
}

/** Entries of the manifest for these paths. */
function entriesAt(
  manifest: CheckpointManifest,
  directory: string,
  paths: readonly string[],
): readonly CheckpointManifest['files'][number][] {
  const wanted = new Set(paths);
  return manifest.files.filter(({ path }) => wanted.has(endOf(join(directory, path))));
}

/** What differs if the whole file is read; undefined: nothing that the manifest tells. */
async function contentProblem(
  directory: string,
  listed: CheckpointManifest['files'][number],
  files: CheckpointFiles,
): Promise<Finding | undefined> {
  const path = join(directory, listed.path);
  const found = await reaching(path, { directory, files }, () => files.digestOf(path));
  if (found === 'no regular file') return contentDiffers(path, { expected: `${listed.bytes} bytes`, found });
  if (found.bytes !== listed.bytes) {
    return contentDiffers(path, { expected: `${listed.bytes} bytes`, found: `${found.bytes} bytes` });
  }
  if (listed.sha256 === undefined || listed.sha256 === found.sha256) return undefined;
  return contentDiffers(path, { expected: `SHA-256 ${listed.sha256}`, found: `SHA-256 ${found.sha256}` });
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
  return await asVerification(async () => {
    const manifest = await readManifest({ directory, manifestSha256 }, files);
    const own = ranks === undefined ? manifest.files : filesOfRanks(manifest.files, ranks);
    for (let start = 0; start < own.length; start += FILES_AT_ONCE) {
      await Promise.all(own.slice(start, start + FILES_AT_ONCE).map((file) => checkSize(directory, file, files)));
    }
    return { manifest, files: own.length };
  });
}

/** Compares the list of all files below the directory, whose payload engine and readers check. */
async function checkFileList(directory: string, filesSha256: string, files: CheckpointFiles): Promise<void> {
  const found = await reaching(directory, { directory, files }, () => fileListOf(directory));
  if (found !== filesSha256)
    throw contentDiffers(directory, { expected: `files with SHA-256 ${filesSha256}`, found: `SHA-256 ${found}` });
}

async function asVerification<T>(verify: () => Promise<T>): Promise<Verification<T>> {
  try {
    return { kind: 'verified', value: await verify() };
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    const { fault, file, message } = error;
    return {
      kind: 'refused',
      why: message,
      ...(fault === undefined ? {} : { fault }),
      ...(file === undefined ? {} : { file }),
    };
  }
}

/** The manifest, if it has that SHA-256. */
export async function readManifest(
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
    throw new Finding({ kind, path: endOf(path), errno }, path);
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
