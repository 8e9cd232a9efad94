import { ByteBlocks } from './byte-blocks.ts';
import type { FrameKind, LogFrame } from './log-frames.ts';

/** Small pieces of output are sent together. */
const MAX_MERGED_BYTES = 32_768;
/** Of the share of a writer in the bound, a block is at most this part, so that what is dropped at once is little. */
const BLOCKS_OF_WRITER = 8;

/** Frames of one writer that wait. */
interface Waiting {
  readonly frames: ByteBlocks<FrameKind>;
  droppedBytes: number;
}

/**
 * Output that waits for the keeping process. The memory that it takes is bounded: the oldest of the writer that has most is dropped and counted, so that the newest is kept and a
 * writer of much output costs no other one anything.
 */
export class FrameQueue {
  #maxBytes: number;
  readonly #writers: readonly Waiting[];
  #next = 0;
  #cost = 0;

  constructor(writers: number, maxBytes: number) {
    this.#maxBytes = maxBytes;
    const merged = Math.min(MAX_MERGED_BYTES, Math.floor(maxBytes / Math.max(1, writers) / BLOCKS_OF_WRITER));
    this.#writers = Array.from({ length: writers }, () => ({ frames: new ByteBlocks(merged), droppedBytes: 0 }));
  }

  get isEmpty(): boolean {
    return this.#cost === 0;
  }

  push({ writer, kind, bytes }: LogFrame): void {
    const waiting = this.#writers[writer];
    if (waiting === undefined || bytes.length === 0) return;
    const before = waiting.frames.cost;
    // A sentence has no newline at its end.
    waiting.frames.push(kind, bytes, { isWhole: kind === 'launcher' });
    this.#cost += waiting.frames.cost - before;
    while (this.#cost > this.#maxBytes) this.#drop();
  }

  /** Drops all but the newest, now and later. */
  boundTo(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    while (this.#cost > this.#maxBytes) this.#drop();
  }

  /** The next frames to send, of each writer in turn; before them, how much of that writer was dropped. */
  shift(): readonly LogFrame[] {
    for (let count = 0; count < this.#writers.length; count += 1) {
      const writer = this.#next;
      this.#next = (this.#next + 1) % this.#writers.length;
      const waiting = this.#writers[writer];
      const frame = waiting && this.#take(waiting);
      if (waiting === undefined || frame === undefined) continue;
      const { droppedBytes } = waiting;
      waiting.droppedBytes = 0;
      const dropped = { writer, kind: 'dropped', bytes: Buffer.from(String(droppedBytes)) } as const;
      return [...(droppedBytes === 0 ? [] : [dropped]), { writer, ...frame }];
    }
    return [];
  }

  #drop(): void {
    const most = this.#writers.reduce((one, other) => (other.frames.cost > one.frames.cost ? other : one));
    most.droppedBytes += this.#take(most)?.bytes.length ?? 0;
  }

  #take({ frames }: Waiting): ReturnType<ByteBlocks<FrameKind>['shift']> {
    const before = frames.cost;
    const frame = frames.shift();
    this.#cost += frames.cost - before;
    return frame;
  }
}
