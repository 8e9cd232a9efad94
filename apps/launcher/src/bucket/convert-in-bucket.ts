/** Converts a save of a bucket: downloads it to a disk of the node, converts it there, and uploads what was made. */
import { mkdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { POD_PATHS } from '@coxswain/api-types';
import { CONVERSION_FILE, converterDiskBytes, MANIFEST_FILE, UPLOAD_FILE } from '@coxswain/checkpoint';
import {
  type CheckpointStore,
  copySave,
  DirectoryStore,
  hasSave,
  SaveDiffers,
  StoreError,
} from '@coxswain/checkpoint-store';
import { formatBytes } from '@coxswain/units';
import type { ConvertInBucket, FoldersInBucket, WorkInBucket } from '../checkpoints/convert-checkpoint.ts';
import { manifestSha256 } from '../checkpoints/converted-manifest.ts';
import type { OpenBucket } from '../checkpoints/delete-checkpoint.ts';
import { TargetUnusable } from '../checkpoints/universal-target.ts';
import { messageOf } from './bucket-saves.ts';
import { retryUnreachable } from './retry-unreachable.ts';

/** The bucket and the disk of a conversion. */
interface BucketWork extends WorkInBucket {
  readonly bucket: CheckpointStore;
  /** A directory of the node with room for {@link converterDiskBytes}. */
  readonly disk: string;
  readonly pause: ((ms: number) => Promise<unknown>) | undefined;
}

const MAX_ID_BYTES = 1024;
/** Between two lines of progress. */
const PROGRESS_PARTS = 20;

/** Where conversions of the pod find room. */
interface BucketOptions {
  readonly disk?: string;
  readonly pause?: (ms: number) => Promise<unknown>;
}

/**
 * Conversions in the bucket that `open` opens. The new save is published by its manifest, which comes last. A target that holds it already stays as it is. A run
 * that was killed is repeated as a whole; of equal files that are uploaded already, none is uploaded again. TargetUnusable: the bucket does not answer, its
 * target holds something else, or the disk is too small. Any other error is about the save.
 */
export function conversionInBucket(
  open: OpenBucket,
  { disk = POD_PATHS.checkpoints, pause }: BucketOptions = {},
): ConvertInBucket {
  return async (folders, work) => {
    try {
      const bucket = await open();
      if (bucket === undefined) throw new TargetUnusable('No bucket is named in the environment of the pod.');
      const all = { ...work, bucket, disk, pause };
      return (await publishedBefore(folders, all)) ?? (await convertAnew(folders, all));
    } catch (error) {
      // A store that does not answer says nothing of what it holds.
      if (error instanceof StoreError) throw new TargetUnusable(messageOf(error), { cause: error });
      throw error;
    }
  };
}

async function convertAnew({ source, target, ...save }: FoldersInBucket, work: BucketWork): Promise<string> {
  const { bucket, disk, signal, logLine, convert, pause } = work;
  await requireRoom(disk, await retryUnreachable(() => bytesBelow(bucket, source), pause));
  const local = new DirectoryStore(disk);
  const from = { folder: source, manifestSha256: save.manifestSha256 };
  const download = { from: bucket, to: local, signal, onProgress: progressOf('downloaded', logLine) };
  await retryUnreachable(() => copySave(from, download), pause);
  const places = { source: join(disk, source), target: join(disk, target) };
  await mkdir(places.target, { recursive: true });
  const made = await convert(places);
  if (made === undefined) throw new Error(`${bucket.location}/${source} has no manifest that can be read.`);
  const upload = { from: local, to: bucket, signal, onProgress: progressOf('uploaded', logLine) };
  try {
    await retryUnreachable(() => copySave({ folder: target, manifestSha256: made }, upload), pause);
  } catch (error) {
    // The files of the disk were verified a moment ago, so nothing is held against the source.
    if (error instanceof SaveDiffers)
      throw new TargetUnusable(`It was not uploaded: ${error.message}.`, { cause: error });
    throw error;
  }
  return made;
}

/**
 * The SHA-256 of the manifest, if the target holds the save that this conversion would make. Otherwise the target is claimed for it by a conditional write, before
 * anything else is written there.
 */
async function publishedBefore(
  { target, manifestSha256: id }: FoldersInBucket,
  { bucket, pause }: BucketWork,
): Promise<string | undefined> {
  return await retryUnreachable(async () => {
    const files = new Map((await bucket.list(target)).map(({ path, bytes }) => [path.slice(target.length + 1), bytes]));
    const place = `${bucket.location}/${target}`;
    const [other] = files.keys();
    if (other !== undefined && !files.has(CONVERSION_FILE))
      throw new TargetUnusable(`${place} is not empty: it holds ${other}. Name an empty folder.`);
    const marker = `${target}/${CONVERSION_FILE}`;
    if (!(await bucket.write(marker, [Buffer.from(id)], { ifAbsent: true }))) {
      const found = Buffer.from(await bucket.read(marker, 0, MAX_ID_BYTES)).toString();
      if (found !== id) throw new TargetUnusable(`${place} already belongs to another save. Name an empty folder.`);
    }
    if (!files.has(MANIFEST_FILE)) return undefined;
    const made = await manifestSha256(bucket, target);
    // A published save whose files are gone was damaged later: a conversion does not repair it.
    if (made === undefined || !(await hasSave(bucket, { folder: target, manifestSha256: made })))
      throw new TargetUnusable(`${place} lacks files that its ${MANIFEST_FILE} lists. Delete it.`);
    // Of a pod that was killed after its manifest was written.
    await bucket.remove([`${target}/${UPLOAD_FILE}`]);
    return made;
  }, pause);
}

async function bytesBelow(bucket: CheckpointStore, folder: string): Promise<number> {
  return (await bucket.list(folder)).reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Before the save is downloaded: a conversion that fails at its end costs as much as one that succeeds. */
async function requireRoom(disk: string, bytes: number): Promise<void> {
  await mkdir(disk, { recursive: true });
  const { bavail, bsize } = await statfs(disk);
  const [free, needed] = [bavail * bsize, converterDiskBytes(bytes)];
  if (free < needed)
    throw new TargetUnusable(
      `The disk of the node has ${formatBytes(free)} free, and the conversion needs up to ${formatBytes(needed)}: three times the save. Use nodes with larger disks for pods of conversions.`,
    );
}

function progressOf(what: string, logLine: (sentence: string) => void): (copied: number, all: number) => void {
  let printed = 0;
  return (copied, all) => {
    const part = Math.floor((PROGRESS_PARTS * copied) / Math.max(1, all));
    if (part <= printed) return;
    printed = part;
    logLine(`${formatBytes(copied)} of ${formatBytes(all)} ${what}.`);
  };
}
