import type { FrameKind, LogFrame } from './log-frames.ts';

/** Frames of one writer that wait. */
interface Waiting {
  readonly frames: { readonly kind: FrameKind; readonly bytes: Buffer }[];
  bytes: number;
  droppedBytes: number;
}

/**
 * Output that waits for the keeping process. It is bounded: the oldest of the writer that has most is dropped and counted, so that the newest is kept and a
 * writer of much output costs no other one anything.
 */
export class FrameQueue {
  #maxBytes: number;
  readonly #writers: readonly Waiting[];
  #bytes = 0;
  #next = 0;

  constructor(writers: number, maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#writers = Array.from({ length: writers }, () => ({ frames: [], bytes: 0, droppedBytes: 0 }));
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  push({ writer, kind, bytes }: LogFrame): void {
    const waiting = this.#writers[writer];
    if (waiting === undefined || bytes.length === 0) return;
    waiting.frames.push({ kind, bytes });
    waiting.bytes += bytes.length;
    this.#bytes += bytes.length;
    while (this.#bytes > this.#maxBytes) this.#drop();
  }

  /** Drops all but the newest, now and later. */
  boundTo(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    while (this.#bytes > this.#maxBytes) this.#drop();
  }

  /** The next frames to send, of each writer in turn; before them, how much of that writer was dropped. */
  shift(): readonly LogFrame[] {
    for (let count = 0; count < this.#writers.length; count += 1) {
      const writer = this.#next;
      this.#next = (this.#next + 1) % this.#writers.length;
      const waiting = this.#writers[writer];
      const frame = waiting?.frames.shift();
      if (waiting === undefined || frame === undefined) continue;
      waiting.bytes -= frame.bytes.length;
      this.#bytes -= frame.bytes.length;
      const { droppedBytes } = waiting;
      waiting.droppedBytes = 0;
      const dropped = { writer, kind: 'dropped', bytes: Buffer.from(String(droppedBytes)) } as const;
      return [...(droppedBytes === 0 ? [] : [dropped]), { writer, ...frame }];
    }
    return [];
  }

  #drop(): void {
    const most = this.#writers.reduce((one, other) => (other.bytes > one.bytes ? other : one));
    const { bytes } = most.frames.shift() ?? { bytes: Buffer.alloc(0) };
    most.bytes -= bytes.length;
    most.droppedBytes += bytes.length;
    this.#bytes -= bytes.length;
  }
}
