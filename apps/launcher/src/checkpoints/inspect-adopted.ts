/** Reads the bytes of a directory that no job saved: whether it is a sound checkpoint, what it holds, and which files it has. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { CheckpointFileList, VerificationLevel } from '@coxswain/api-types';
import { fileListSha256, MANIFEST_FILE } from '@coxswain/checkpoint';
import type { CheckpointFiles } from './checkpoint-files.ts';
import { filesBelow } from './file-list.ts';
import { isBroken, lookAt, type SaveInspection } from './inspect-save.ts';

/** A network file system after a failover shows old names and sizes for some seconds. */
const TRIES = 3;
const PAUSE_MS = 1_000;

/** What the files say, and their list. */
export interface AdoptedInspection extends SaveInspection {
  readonly files: CheckpointFileList;
}

/**
 * Inspects all files below the directory, and reads again before it finds a checkpoint broken. If files change meanwhile, somebody still writes there, and
 * nothing is found.
 */
export async function inspectAdopted(
  directory: string,
  { level, files }: { readonly level: VerificationLevel; readonly files: CheckpointFiles },
): Promise<AdoptedInspection> {
  const onAnswer = (): void => undefined;
  for (let tried = 1; ; tried++) {
    const listed = await filesBelow(directory, onAnswer);
    const sha256 = fileListSha256(listed, createHash('sha256'));
    const inspection = await lookAt(directory, listed, { level, by: 'Worker', onAnswer });
    if (fileListSha256(await filesBelow(directory, onAnswer), createHash('sha256')) !== sha256)
      throw new Error(`files of ${directory} changed while they were read; adopt a checkpoint that is complete`);
    if (isBroken(inspection.verification) && tried < TRIES) {
      await files.pause(PAUSE_MS);
      continue;
    }
    const bytes = listed.reduce((sum, file) => sum + file.bytes, 0);
    const isListed = listed.some(({ path, isLink }) => path === MANIFEST_FILE && isLink !== true);
    const manifest = isListed ? await files.digestOf(join(directory, MANIFEST_FILE)) : 'no regular file';
    const manifestSha256 = manifest === 'no regular file' ? {} : { manifestSha256: manifest.sha256 };
    return { ...inspection, files: { count: listed.length, bytes, sha256, ...manifestSha256 } };
  }
}
