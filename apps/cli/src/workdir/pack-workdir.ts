import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { CODE_LIMITS, HARMLESS_FILES, LIKELY_SECRETS } from '@coxswain/api-types';
import { formatBytes } from '@coxswain/units';
import { CliError } from '../cli-error.ts';
import { fileError } from '../files/file-error.ts';
import { listFiles, type WorkdirFile } from './list-files.ts';
import { writeTar } from './write-tar.ts';

/** An archive of a working directory. */
export interface PackedWorkdir {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly sha256: string;
  readonly files: number;
  /** Files that look like secrets. */
  readonly secrets: readonly string[];
  /** Files and directories of credentials that are not in the archive. */
  readonly withheld: readonly string[];
}

const SECRET = new RegExp(LIKELY_SECRETS);
const HARMLESS = new RegExp(HARMLESS_FILES);
type Limits = Readonly<Record<keyof typeof CODE_LIMITS, number>>;
const LARGEST_SHOWN = 5;
/** Packs the directory: the same files give the same bytes. Throws CliError if the archive would be too large, and names the largest files. */
export function packWorkdir(directory: string, limits: Limits = CODE_LIMITS): PackedWorkdir {
  const { files, withheld } = listFiles(directory);
  if (files.length === 0) throw new CliError(`The working directory ${directory} has no files to ship.`);
  const sum = files.reduce((total, { bytes }) => total + bytes, 0);
  if (files.length > limits.entries)
    throw new CliError(
      `The working directory ${directory} has ${files.length} files, and a job takes at most ${limits.entries}. ${LEAVE_OUT}`,
    );
  const tooManyBytes = (bytes: number): CliError =>
    tooLarge(directory, { what: 'of files', bytes, most: limits.unpackedBytes }, files);
  // Before they are read. A pod counts the headers and padding of the archive too.
  if (sum > limits.unpackedBytes) throw tooManyBytes(sum);
  const tar = writeTar(files.map((file) => ({ ...file, content: contentOf(directory, file) })));
  if (tar.length > limits.unpackedBytes) throw tooManyBytes(tar.length);
  const bytes = gzipSync(tar);
  if (bytes.length > limits.archiveBytes)
    throw tooLarge(directory, { what: 'as an archive', bytes: bytes.length, most: limits.archiveBytes }, files);
  return {
    bytes: new Uint8Array(bytes),
    sha256: createHash('sha256').update(bytes).digest('hex'),
    files: files.length,
    secrets: files.map(({ path }) => path).filter(looksLikeSecret),
    withheld,
  };
}

function looksLikeSecret(path: string): boolean {
  const lower = path.toLowerCase();
  return SECRET.test(lower) && !HARMLESS.test(lower);
}

const LEAVE_OUT = 'Add data, checkpoints and environments to .gitignore; a job reads data from a claim or a bucket.';

function tooLarge(
  directory: string,
  { what, bytes, most }: { readonly what: string; readonly bytes: number; readonly most: number },
  files: readonly WorkdirFile[],
): CliError {
  const largest = files.toSorted((one, other) => other.bytes - one.bytes).slice(0, LARGEST_SHOWN);
  const lines = largest.map((file) => `  ${formatBytes(file.bytes).padStart(10)}  ${file.path}`);
  return new CliError(
    `The working directory ${directory} has ${formatBytes(bytes)} ${what}, and a job takes at most ${formatBytes(most)}. The largest files:\n${lines.join('\n')}\n${LEAVE_OUT}`,
  );
}

function contentOf(directory: string, { path, target }: WorkdirFile): Uint8Array {
  if (target !== undefined) return new Uint8Array();
  try {
    return readFileSync(join(directory, path));
  } catch (error) {
    throw fileError('read', join(directory, path), error);
  }
}
