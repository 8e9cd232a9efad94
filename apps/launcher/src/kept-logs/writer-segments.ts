import type { WriterBounds } from './log-bounds.ts';
import { type SegmentFolder, segmentFolder, segmentPath } from './log-segments.ts';
import type { SegmentStore } from './segment-store.ts';

/** Where one writer's segments go, and how much of them stays. */
export interface WriterPlace {
  /** Folder of the job's logs, in the store. */
  readonly folder: string;
  readonly writer: SegmentFolder;
  readonly incarnation: number;
  readonly bounds: WriterBounds;
}

interface Kept {
  readonly path: string;
  bytes: number;
}

/** The segments of one writer: one grows, and the oldest are removed. */
export class WriterSegments {
  readonly #store: SegmentStore;
  readonly #place: WriterPlace;
  readonly #nowMs: () => number;
  /** Oldest first; also of earlier incarnations of the attempt. undefined: not listed yet. */
  #full: Kept[] | undefined;
  #growing: Kept | undefined;
  #number = 0;

  constructor(store: SegmentStore, place: WriterPlace, nowMs: () => number) {
    this.#store = store;
    this.#place = place;
    this.#nowMs = nowMs;
  }

  /** Appends whole records. If it rejects, some of them may be in storage, and the next ones go to a new segment. */
  async append(buffers: readonly Buffer[]): Promise<void> {
    this.#full ??= await this.#listed();
    for (let from = 0; from < buffers.length;) {
      const growing = this.#growing ?? (await this.#begin());
      let to = from;
      let bytes = 0;
      const { segmentBytes } = this.#place.bounds;
      do bytes += buffers[to++]?.length ?? 0;
      while (to < buffers.length && growing.bytes + bytes + (buffers[to]?.length ?? 0) <= segmentBytes);
      try {
        growing.bytes += bytes;
        await this.#store.append(growing.path, Buffer.concat(buffers.slice(from, to), bytes));
      } catch (error) {
        await this.end().catch(() => undefined);
        throw error;
      }
      from = to;
      if (growing.bytes >= segmentBytes || to < buffers.length) await this.end();
    }
  }

  /** Nothing more is written for now. */
  async end(): Promise<void> {
    const growing = this.#growing;
    this.#growing = undefined;
    if (growing === undefined) return;
    this.#full?.push(growing);
    await this.#store.seal(growing.path);
  }

  async #begin(): Promise<Kept> {
    await this.#makeRoom();
    const { writer, incarnation, folder } = this.#place;
    this.#number += 1;
    const segment = { ...writer, incarnation, number: this.#number, startMs: this.#nowMs() };
    this.#growing = { path: `${folder}/${segmentPath(segment)}`, bytes: 0 };
    return this.#growing;
  }

  /** Removes the oldest segments until another full one fits. */
  async #makeRoom(): Promise<void> {
    const { bytes, segmentBytes } = this.#place.bounds;
    const full = this.#full ?? [];
    let sum = full.reduce((total, one) => total + one.bytes, 0);
    const removed: string[] = [];
    for (const one of full) {
      if (sum + segmentBytes <= bytes) break;
      removed.push(one.path);
      sum -= one.bytes;
    }
    if (removed.length === 0) return;
    await this.#store.remove(removed);
    full.splice(0, removed.length);
  }

  async #listed(): Promise<Kept[]> {
    const files = await this.#store.list(`${this.#place.folder}/${segmentFolder(this.#place.writer)}`);
    return files.map(({ path, bytes }) => ({ path, bytes })).sort((one, other) => (one.path < other.path ? -1 : 1));
  }
}
