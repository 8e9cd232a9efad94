import { launcherRecord, RecordEncoder } from './log-records.ts';

/**
 * Records of one writer that are not in storage yet. They are bounded: if storage stalls, or a rank writes more than storage is given, the oldest are dropped and
 * counted, so that the newest are kept.
 */
export class PendingRecords {
  readonly #maxBytes: number;
  readonly #now: () => Date;
  readonly #encoders = { stdout: new RecordEncoder('stdout'), stderr: new RecordEncoder('stderr') } as const;
  #buffers: Buffer[] = [];
  #bytes = 0;
  #droppedBytes = 0;

  constructor(maxBytes: number, now: () => Date) {
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether nothing is to be written, not even the begin of a line or that something was dropped. */
  get isEmpty(): boolean {
    const { stdout, stderr } = this.#encoders;
    return this.#bytes === 0 && this.#droppedBytes === 0 && stdout.isEmpty && stderr.isEmpty;
  }

  push(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    this.#add(this.#encoders[stream].push(chunk, this.#now()));
  }

  pushSentence(sentence: string): void {
    this.#add([launcherRecord(sentence, this.#now())]);
  }

  /** Counts bytes that were dropped before they came here, or that storage rejected. */
  noteDropped(bytes: number): void {
    this.#droppedBytes += bytes;
  }

  /** Removes and returns up to about `maxBytes`, after a sentence on what was dropped before them. */
  take(maxBytes: number): readonly Buffer[] {
    for (const encoder of Object.values(this.#encoders)) this.#add(encoder.flush(this.#now()));
    const taken: Buffer[] = [];
    if (this.#droppedBytes > 0) {
      taken.push(
        launcherRecord(
          `${this.#droppedBytes} bytes of this log are missing here: storage did not take them in time.`,
          this.#now(),
        ),
      );
      this.#droppedBytes = 0;
    }
    let count = 0;
    let bytes = 0;
    for (const { length } of this.#buffers) {
      if (bytes >= maxBytes) break;
      bytes += length;
      count += 1;
    }
    taken.push(...this.#buffers.splice(0, count));
    this.#bytes -= bytes;
    return taken;
  }

  #add(buffers: readonly Buffer[]): void {
    for (const buffer of buffers) {
      this.#buffers.push(buffer);
      this.#bytes += buffer.length;
    }
    let count = 0;
    while (this.#bytes > this.#maxBytes && count < this.#buffers.length - 1) {
      const { length = 0 } = this.#buffers[count] ?? {};
      this.#bytes -= length;
      this.#droppedBytes += length;
      count += 1;
    }
    this.#buffers.splice(0, count);
  }
}
