/** Which files does a job run that are in no image? One archive, named by its digest. */
import { z } from 'zod';
import { POD_PATHS } from './names.ts';

/** Limits of an archive of code. The API refuses a larger one, and a launcher does not unpack it. */
export const CODE_LIMITS = {
  /** Of the compressed archive. */
  archiveBytes: 64 << 20,
  /** Of the archive after decompression: the files, and 512 bytes and more for each. */
  unpackedBytes: 256 << 20,
  /** Files, directories and links. */
  entries: 20_000,
} as const;

/** Media type of an archive: a tar, compressed with gzip. */
export const CODE_MEDIA_TYPE = 'application/gzip';

export const CodeDigest = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the archive: 64 hexadecimal digits, in lower case');

/** Files of the user, uploaded before the job. */
export const CodeSpec = z
  .strictObject({
    sha256: CodeDigest.describe(
      'SHA-256 of the archive in hexadecimal digits. `coxswain submit --workdir` uploads the archive and sets this field.',
    ),
  })
  .meta({ id: 'CodeSpec' });

/** Where the archive lies below the prefix of the bucket. Only pods of the namespace can get it. */
export function codePathOf(namespace: string, sha256: string): string {
  return `${namespace}/${sha256}.tar.gz`;
}

/** An archive of code that a project uploaded. */
export const CodeArchive = z
  .strictObject({
    sha256: CodeDigest.describe('SHA-256 of the archive; spec.code.sha256 of a job names it.'),
    namespace: z.string().describe('Namespace whose jobs can use it.'),
    bytes: z.int().min(0).describe('Size of the archive.'),
    uploadedAt: z.iso.datetime().describe('Time of the upload.'),
    usedAt: z.iso
      .datetime()
      .describe('Time at which a job last named it, or of the upload. An archive that no job names is removed later.'),
  })
  .meta({ id: 'CodeArchive' });
export type CodeArchive = z.infer<typeof CodeArchive>;

/** What `spec.code` means to a pod. */
export const CODE_DESCRIPTION = `Files of the user, instead of a new image for each change. They are unpacked to ${POD_PATHS.code}, and ranks start there. Absent: ranks start in the working directory of the image.`;
