/** Which saves in a bucket were begun and never published? */
import type { CheckpointManifest } from './manifest.ts';
import { MANIFEST_FILE } from './formats/manifest-file.ts';
import type { StoredFile } from './read/save-files.ts';

/** Is in a save from the begin of its upload until its manifest is there. Its text is the SHA-256 of the manifest. */
export const UPLOAD_FILE = '.coxswain-upload';

/** A save whose upload began and did not end. */
export interface HalfUploadedSave {
  readonly folder: string;
  /** Of every file, relative to the folder. */
  readonly paths: readonly string[];
}

/**
 * The saves below a prefix that an upload left without a manifest. Only what an upload has marked is one: other files below the prefix may belong to
 * a user.
 */
export function halfUploadedSaves(files: readonly StoredFile[]): readonly HalfUploadedSave[] {
  const all = new Set(files.map(({ path }) => path));
  const ending = `/${UPLOAD_FILE}`;
  return files
    .filter(({ path }) => path.endsWith(ending))
    .map(({ path }) => path.slice(0, -ending.length))
    .filter((folder) => !all.has(`${folder}/${MANIFEST_FILE}`))
    .map((folder) => ({ folder, paths: pathsBelow(folder, files) }));
}

/** The first file of a manifest that a list lacks, or has with another size, as the end of a sentence; undefined: all are there. */
export function describeUnlisted(
  { files }: Pick<CheckpointManifest, 'files'>,
  listed: ReadonlyMap<string, number>,
): string | undefined {
  for (const { path, bytes } of files) {
    const found = listed.get(path);
    if (found === undefined) return `${path} is not there`;
    if (found !== bytes) return `${path} has ${found} bytes, not ${bytes}`;
  }
  return undefined;
}

function pathsBelow(folder: string, files: readonly StoredFile[]): readonly string[] {
  return files.flatMap(({ path }) => (path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : []));
}
