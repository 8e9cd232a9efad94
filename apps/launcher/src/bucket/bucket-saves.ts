/** Saves of a job that keeps its checkpoints in a bucket: the engine writes to a disk of the node, and from there they are uploaded. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CheckpointFault } from '@coxswain/api-types';
import { halfUploadedSaves } from '@coxswain/checkpoint';
import {
  type CheckpointStore,
  copyListed,
  copySave,
  deleteSave,
  hasListed,
  hasSave,
  leftByUploads,
  type ListedSave,
  SaveDiffers,
  StoreError,
  type SaveToCopy,
} from '@coxswain/checkpoint-store';

/** A bucket, and the directory of the node where its saves are while an engine uses them. */
export interface BucketSavesOptions {
  readonly bucket: CheckpointStore;
  /** The checkpoint mount. Paths below it are the same as below the prefix of the bucket. */
  readonly disk: CheckpointStore;
  readonly logLine: (sentence: string) => void;
  readonly pause?: (ms: number) => Promise<void>;
  readonly nowMs?: () => number;
}

/** How long an upload is tried. */
export interface UploadOptions {
  readonly isInHurry: () => boolean;
  /** Ends the upload, so that the save is not reported. */
  readonly signal: AbortSignal;
}

/** Why a checkpoint could not be downloaded. `fault`: as an attempt records it; undefined: the disk of the node is to blame. */
export interface DownloadProblem {
  readonly why: string;
  readonly fault: CheckpointFault | undefined;
}

/** Pauses between two tries: a store that restarts is back within a minute. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000];
/** Tries of an upload while newer saves wait for theirs, or the pod is to end. */
const MOST_TRIES_IN_A_HURRY = 3;
const PROGRESS_MS = 10_000;
const MAX_FOUND_CHARACTERS = 128;
const MAX_PATH_CHARACTERS = 256;

/** Uploads and downloads saves, and removes the copies that the node no longer needs. */
export class BucketSaves {
  readonly #options: BucketSavesOptions;
  readonly #pause: (ms: number) => Promise<void>;
  readonly #nowMs: () => number;
  /** Folders of copies on the disk. */
  readonly #copies = new Set<string>();

  constructor(options: BucketSavesOptions) {
    this.#options = options;
    // A pod that only verifies has nothing else that keeps its process alive.
    this.#pause = options.pause ?? ((ms) => delay(ms));
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /** The stores, and the clock of everything that uses them. */
  get stores(): Required<BucketSavesOptions> {
    return { ...this.#options, pause: this.#pause, nowMs: this.#nowMs };
  }

  /**
   * Uploads a save. Tries again until the bucket has it; in a hurry a few times. Returns whether it is in the bucket. Copies on the disk go, but for
   * the newest one that is in the bucket, from which ranks can restart in place.
   */
  async upload(save: SaveToCopy, { isInHurry, signal }: UploadOptions): Promise<boolean> {
    const { bucket, disk, logLine } = this.#options;
    const startMs = this.#nowMs();
    const place = `${bucket.location}/${save.folder}`;
    for (let tried = 1; ; tried++) {
      try {
        await copySave(save, { from: disk, to: bucket, signal });
        // Ranks that have started since may use another copy.
        if (signal.aborted) return false;
        logLine(`Uploaded ${place} in ${this.#secondsSince(startMs)} s.`);
        await this.keepOnly(save.folder);
        return true;
      } catch (error) {
        const isOver =
          error instanceof SaveDiffers || signal.aborted || (isInHurry() && tried >= MOST_TRIES_IN_A_HURRY);
        logLine(
          `Try ${tried} to upload ${place} failed${isOver ? ', and it is not reported' : ''}: ${messageOf(error)}`,
        );
        if (isOver) {
          await this.discard(save.folder);
          return false;
        }
        await this.#pause(pauseAfter(tried));
      }
    }
  }

  /** Downloads a checkpoint, unless the disk has it. Returns why it could not. */
  async download(save: SaveToCopy | ListedSave): Promise<DownloadProblem | undefined> {
    const { bucket, disk, logLine } = this.#options;
    const startMs = this.#nowMs();
    const place = `${bucket.location}/${save.folder}`;
    this.#copies.add(save.folder);
    for (let tried = 1; ; tried++) {
      try {
        if (await isThere(disk, save)) return undefined;
        const options = { from: bucket, to: disk, onProgress: this.#progressOf(place) };
        await ('filesSha256' in save ? copyListed(save, options) : copySave(save, options));
        logLine(`${place} is on the node after ${this.#secondsSince(startMs)} s.`);
        return undefined;
      } catch (error) {
        if (tried > PAUSES_MS.length || isLasting(error))
          return problemOf(error, { folder: save.folder, disk: disk.location });
        logLine(`Try ${tried} to download ${place} failed: ${messageOf(error)}`);
        await this.#pause(pauseAfter(tried));
      }
    }
  }

  /** Deletes what earlier uploads below a folder left without a manifest, and returns the folders of these saves. */
  async removeHalfUploaded(folder: string): Promise<readonly string[]> {
    const { bucket } = this.#options;
    const files = await bucket.list(folder);
    await bucket.remove(leftByUploads(files));
    const half = halfUploadedSaves(files);
    for (const save of half) await deleteSave(bucket, save.folder, save.paths);
    return half.map((save) => save.folder);
  }

  /** Removes the copies on the disk but that of this save. */
  async keepOnly(folder: string): Promise<void> {
    const others = [...this.#copies].filter((copy) => copy !== folder);
    this.#copies.add(folder);
    for (const copy of others) await this.discard(copy);
  }

  /** Removes the copy of a save that the bucket will not have, or no longer needs. */
  async discard(folder: string): Promise<void> {
    this.#copies.delete(folder);
    await rm(join(this.#options.disk.location, folder), { recursive: true, force: true }).catch((error: unknown) =>
      this.#options.logLine(`The copy of ${folder} stays on the node: ${messageOf(error)}`),
    );
  }

  #progressOf(place: string): (copied: number, all: number) => void {
    let lastMs = this.#nowMs();
    return (copied, all) => {
      if (this.#nowMs() - lastMs < PROGRESS_MS) return;
      lastMs = this.#nowMs();
      const { logLine } = this.#options;
      logLine(`Downloading ${place}: ${Math.floor((100 * copied) / Math.max(1, all))} % of ${toGigabytes(all)} GB.`);
    };
  }

  #secondsSince(startMs: number): string {
    return ((this.#nowMs() - startMs) / 1000).toFixed(1);
  }
}

function isThere(disk: CheckpointStore, save: SaveToCopy | ListedSave): Promise<boolean> {
  return 'filesSha256' in save ? hasListed(disk, save) : hasSave(disk, save);
}

/** What another try in the same pod does not change. */
function isLasting(error: unknown): boolean {
  if (error instanceof SaveDiffers) return true;
  return !(error instanceof StoreError) || ['NotFound', 'NoCredentials', 'InvalidLocation'].includes(error.kind);
}

/** Only what the bucket lists or holds is held against a checkpoint. A bucket that does not answer is like a mount that does not work. */
function problemOf(
  error: unknown,
  { folder, disk }: { readonly folder: string; readonly disk: string },
): DownloadProblem {
  const path = folder.slice(-MAX_PATH_CHARACTERS);
  if (error instanceof SaveDiffers) {
    const { expected, found } = error;
    const fault = { kind: 'ContentDiffers', path: error.path.slice(-MAX_PATH_CHARACTERS), expected, found } as const;
    return { why: error.message, fault };
  }
  const why = messageOf(error);
  if (!(error instanceof StoreError) || why.includes(` in ${disk}:`)) return { why, fault: undefined };
  return { why, fault: { kind: 'MountBroken', path, found: why.slice(0, MAX_FOUND_CHARACTERS) } };
}

/** How long to wait after so many tries. */
export function pauseAfter(tried: number): number {
  return PAUSES_MS[Math.min(tried, PAUSES_MS.length) - 1] ?? 0;
}

function toGigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}

/** Sentences of a store are for its command line; a job says the same in its spec. */
const IN_A_JOB: Partial<Record<StoreError['kind'], string>> = {
  NoCredentials: 'Name a Secret in spec.checkpoint.bucket.credentialsSecret, or a service account in the runtime.',
  AccessDenied: 'They are those of spec.checkpoint.bucket.credentialsSecret, or of the service account of the runtime.',
  NotFound: 'A job has both in spec.checkpoint.bucket, as uri and endpoint.',
};

/** Why a store does not do what was asked, with what to do about it in a job. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const advice = error instanceof StoreError ? IN_A_JOB[error.kind] : undefined;
  return advice === undefined ? error.message : `${error.message} ${advice}`;
}
