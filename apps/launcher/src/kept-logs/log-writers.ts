import type { LogFrame } from './log-frames.ts';
import { PendingRecords } from './pending-records.ts';
import type { SegmentStore } from './segment-store.ts';
import { WriterSegments, type WriterPlace } from './writer-segments.ts';

/** Most bytes a second that the ranks of a pod write to storage together. Of more, the newest are kept. */
const MAX_BYTES_PER_SECOND = 16 * 1_048_576;
/** Memory for records of all writers that wait for storage. */
const MAX_PENDING_BYTES = 16 * 1_048_576;
/** Small records are written together. A segment has several such blocks, so that it is full at its bound. */
const MAX_MERGED_BYTES = 32_768;
const BLOCKS_OF_SEGMENT = 8;
const MAX_BYTES_AT_ONCE = 1_048_576;
/**
 * How often what was written is made safe from the loss of its node. Each upload has the whole segment; the first ones are small and come soon, because most ranks
 * that fail do so soon.
 */
const FIRST_SAVE_MS = 5_000;
const SAVE_MS = { local: 5_000, remote: 60_000 } as const;
/** Pause after storage rejected something: a full disk is not asked more often. */
const PAUSE_MS = 10_000;

interface Writer {
  readonly pending: PendingRecords;
  readonly segments: WriterSegments;
}

/** What the writers of a pod need. */
export interface LogWritersOptions {
  readonly store: SegmentStore;
  readonly places: readonly WriterPlace[];
  /** Called with a clause if storage rejects something, once for each clause. */
  readonly onFailure: (why: string) => void;
  readonly nowMs?: () => number;
}

/** Keeps the output of the writers of a pod. `push` never waits; `write` waits for storage. */
export class LogWriters {
  readonly #store: SegmentStore;
  readonly #writers: readonly Writer[];
  readonly #onFailure: (why: string) => void;
  readonly #nowMs: () => number;
  readonly #failures = new Set<string>();
  #allowance = MAX_BYTES_PER_SECOND;
  #countedAtMs: number;
  #savedAtMs: number;
  #saveAfterMs = FIRST_SAVE_MS;
  #pausedUntilMs = -Infinity;

  constructor({ store, places, onFailure, nowMs = Date.now }: LogWritersOptions) {
    const maxBytes = Math.floor(MAX_PENDING_BYTES / Math.max(1, places.length));
    this.#store = store;
    this.#onFailure = onFailure;
    this.#nowMs = nowMs;
    this.#countedAtMs = nowMs();
    this.#savedAtMs = nowMs();
    this.#writers = places.map((place) => ({
      pending: new PendingRecords(
        {
          maxBytes,
          mergedBytes: Math.min(MAX_MERGED_BYTES, Math.floor(place.bounds.segmentBytes / BLOCKS_OF_SEGMENT)),
        },
        () => new Date(nowMs()),
      ),
      segments: new WriterSegments(store, place, nowMs),
    }));
  }

  /** Memory of what waits for storage. */
  get pendingBytes(): number {
    return this.#writers.reduce((sum, { pending }) => sum + pending.bytes, 0);
  }

  push({ writer, kind, bytes }: LogFrame): void {
    const pending = this.#writers[writer]?.pending;
    if (kind === 'dropped') pending?.noteDropped(Number(bytes.toString('latin1')));
    else if (kind === 'launcher') pending?.pushSentence(bytes.toString('utf8'));
    else pending?.push(kind, bytes);
  }

  /** Writes what waits, as much as the rate allows. Never rejects. */
  async write(): Promise<void> {
    if (this.#nowMs() < this.#pausedUntilMs) return;
    this.#refill();
    // The same share for each writer, so that one of much output does not keep the others from storage.
    const waiting = this.#writers.filter(({ pending }) => !pending.isEmpty);
    const share = Math.floor(this.#allowance / Math.max(1, waiting.length));
    for (const writer of waiting) await this.#writeOf(writer, Math.min(share, MAX_BYTES_AT_ONCE));
    if (this.#nowMs() - this.#savedAtMs >= this.#saveAfterMs) await this.#save();
  }

  /** Writes all that waits; the ranks have ended. */
  async end(): Promise<void> {
    for (const writer of this.#writers) {
      await this.#writeOf(writer, Infinity);
      await this.#attempt(() => writer.segments.end());
    }
  }

  async #writeOf({ pending, segments }: Writer, maxBytes: number): Promise<void> {
    if (maxBytes <= 0) return;
    const buffers = pending.take(maxBytes);
    if (buffers.length === 0) return;
    const bytes = buffers.reduce((sum, { length }) => sum + length, 0);
    this.#allowance -= bytes;
    if (!(await this.#attempt(() => segments.append(buffers)))) pending.noteDropped(bytes);
  }

  async #save(): Promise<void> {
    this.#savedAtMs = this.#nowMs();
    this.#saveAfterMs = Math.min(SAVE_MS[this.#store.isRemote ? 'remote' : 'local'], 2 * this.#saveAfterMs);
    await this.#attempt(() => this.#store.save());
  }

  /** Whether it succeeded. */
  async #attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      this.#failures.clear();
      return true;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#pausedUntilMs = this.#nowMs() + PAUSE_MS;
      // Paths and the like differ from one failure to the next.
      const kind = (error as { readonly code?: string }).code ?? why;
      if (!this.#failures.has(kind)) this.#onFailure(why);
      this.#failures.add(kind);
      return false;
    }
  }

  #refill(): void {
    const nowMs = this.#nowMs();
    const earned = ((nowMs - this.#countedAtMs) / 1_000) * MAX_BYTES_PER_SECOND;
    this.#allowance = Math.min(MAX_BYTES_PER_SECOND, this.#allowance + Math.max(0, earned));
    this.#countedAtMs = nowMs;
  }
}
