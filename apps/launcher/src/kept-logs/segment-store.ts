import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CheckpointStore } from '@coxswain/checkpoint-store';
import { formatBytes } from '@coxswain/units';

/** A log must not take the last space that a checkpoint needs: the lesser of both stays free. */
const LEAST_FREE_SHARE = 0.1;
const LEAST_FREE_BYTES = 16 * 2 ** 30;

/** How full a volume is, as statfs reports it. */
type ReadSpace = (path: string) => Promise<{
  readonly bavail: number;
  readonly blocks: number;
  readonly bsize: number;
}>;

/** How segments get into storage. Each path has one writer, which begins it once. */
export interface SegmentStore {
  readonly isRemote: boolean;
  /** Adds bytes to a segment, which need not survive a loss of the node before `save`. */
  append(path: string, bytes: Buffer): Promise<void>;
  /** What was added survives a loss of the node. */
  save(): Promise<void>;
  /** The segment gets no more bytes. */
  seal(path: string): Promise<void>;
  /** Names of the folders right below a folder. */
  folders(folder: string): Promise<readonly string[]>;
  /** Sizes of the files below a folder, and when they were written. */
  list(
    folder: string,
  ): Promise<readonly { readonly path: string; readonly bytes: number; readonly writtenMs?: number }[]>;
  remove(paths: readonly string[]): Promise<void>;
}

/** A segment without output is touched so often, because attempts of other jobs remove what was not written to for an hour. */
const TOUCH_MS = 1_200_000;

/** Segments of a directory: what is appended can be read at once by other pods that mount the claim. */
export class DirectorySegments implements SegmentStore {
  readonly isRemote = false;
  readonly #store: CheckpointStore;
  readonly #space: ReadSpace;
  readonly #nowMs: () => number;
  readonly #open = new Map<string, FileHandle>();
  readonly #unsaved = new Set<string>();
  #touchedAtMs: number;

  constructor(store: CheckpointStore, space: ReadSpace = statfs, nowMs: () => number = Date.now) {
    this.#store = store;
    this.#space = space;
    this.#nowMs = nowMs;
    this.#touchedAtMs = nowMs();
  }

  async append(path: string, bytes: Buffer): Promise<void> {
    const file = (await this.#opened(path)) ?? (await this.#begin(path));
    this.#unsaved.add(path);
    await file.appendFile(bytes);
  }

  async save(): Promise<void> {
    const nowMs = this.#nowMs();
    if (nowMs - this.#touchedAtMs >= TOUCH_MS) {
      this.#touchedAtMs = nowMs;
      for (const file of this.#open.values()) await file.utimes(nowMs / 1_000, nowMs / 1_000);
    }
    for (const path of this.#unsaved) {
      this.#unsaved.delete(path);
      await this.#open.get(path)?.datasync();
    }
  }

  async seal(path: string): Promise<void> {
    const file = this.#open.get(path);
    this.#open.delete(path);
    this.#unsaved.delete(path);
    if (file === undefined) return;
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
  }

  folders(folder: string): Promise<readonly string[]> {
    return this.#store.folders(folder);
  }

  list(folder: string): ReturnType<SegmentStore['list']> {
    return this.#store.list(folder);
  }

  remove(paths: readonly string[]): Promise<void> {
    return this.#store.remove(paths);
  }

  async #requireSpace(): Promise<void> {
    const { bavail, blocks, bsize } = await this.#space(this.#store.location);
    const least = Math.min(LEAST_FREE_BYTES, blocks * bsize * LEAST_FREE_SHARE);
    if (bavail * bsize >= least) return;
    throw new NoSpaceLeft(
      `the volume of the checkpoints has ${formatBytes(bavail * bsize)} free, and logs leave ${formatBytes(least)} to checkpoints.`,
    );
  }

  /** undefined also if another program removed the file: nothing could read what is added to it. */
  async #opened(path: string): Promise<FileHandle | undefined> {
    const file = this.#open.get(path);
    if (file === undefined || (await file.stat()).nlink > 0) return file;
    this.#open.delete(path);
    await file.close();
    return undefined;
  }

  async #begin(path: string): Promise<FileHandle> {
    await this.#requireSpace();
    const target = join(this.#store.location, path);
    await mkdir(dirname(target), { recursive: true });
    const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    const file = await open(target, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o640);
    this.#open.set(path, file);
    return file;
  }
}

/** The volume is too full for logs. */
class NoSpaceLeft extends Error {
  readonly code = 'NO_SPACE_LEFT';
}

/** Segments of a bucket: objects cannot grow, so a segment is in memory until it is full, and is uploaded whole when it is saved. */
export class BucketSegments implements SegmentStore {
  readonly isRemote = true;
  readonly #store: CheckpointStore;
  readonly #growing = new Map<string, Buffer[]>();
  readonly #unsaved = new Set<string>();
  readonly #nowMs: () => number;
  #touchedAtMs: number;

  constructor(store: CheckpointStore, nowMs: () => number = Date.now) {
    this.#store = store;
    this.#nowMs = nowMs;
    this.#touchedAtMs = nowMs();
  }

  append(path: string, bytes: Buffer): Promise<void> {
    const buffers = this.#growing.get(path) ?? [];
    this.#growing.set(path, buffers);
    buffers.push(bytes);
    this.#unsaved.add(path);
    return Promise.resolve();
  }

  async save(): Promise<void> {
    const nowMs = this.#nowMs();
    if (nowMs - this.#touchedAtMs >= TOUCH_MS) {
      this.#touchedAtMs = nowMs;
      for (const path of this.#growing.keys()) this.#unsaved.add(path);
    }
    for (const path of this.#unsaved) await this.#upload(path);
  }

  async seal(path: string): Promise<void> {
    if (this.#unsaved.has(path)) await this.#upload(path);
    this.#growing.delete(path);
  }

  folders(folder: string): Promise<readonly string[]> {
    return this.#store.folders(folder);
  }

  list(folder: string): ReturnType<SegmentStore['list']> {
    return this.#store.list(folder);
  }

  remove(paths: readonly string[]): Promise<void> {
    return this.#store.remove(paths);
  }

  async #upload(path: string): Promise<void> {
    await this.#store.write(path, this.#growing.get(path) ?? []);
    this.#unsaved.delete(path);
  }
}
