import { ByteBlocks } from './byte-blocks.ts';
import { launcherRecord, RecordEncoder } from './log-records.ts';

/**
 * Records of one writer that are not in storage yet. They are bounded: if storage stalls, or a rank writes more than storage is given, the oldest are dropped and
 * counted, so that the newest are kept.
 */
export class PendingRecords {
  readonly #maxBytes: number;
  readonly #now: () => Date;
  readonly #encoders = { stdout: new RecordEncoder('stdout'), stderr: new RecordEncoder('stderr') } as const;
  readonly #waiting: ByteBlocks<'records'>;
  #droppedBytes = 0;

  /** `maxBytes`: of memory. `mergedBytes`: most bytes that are written or dropped together though they came one after the other. */
  constructor({ maxBytes, mergedBytes }: { readonly maxBytes: number; readonly mergedBytes: number }, now: () => Date) {
    this.#maxBytes = maxBytes;
    this.#waiting = new ByteBlocks(mergedBytes);
    this.#now = now;
  }

  /** Memory that the records take. */
  get bytes(): number {
    return this.#waiting.cost;
  }

  /** Whether nothing is to be written, not even the begin of a line or that something was dropped. */
  get isEmpty(): boolean {
    const { stdout, stderr } = this.#encoders;
    return this.#waiting.length === 0 && this.#droppedBytes === 0 && stdout.isEmpty && stderr.isEmpty;
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
    for (let bytes = 0; bytes < maxBytes;) {
      const next = this.#waiting.shift()?.bytes;
      if (next === undefined) break;
      taken.push(next);
      bytes += next.length;
    }
    return taken;
  }

  #add(buffers: readonly Buffer[]): void {
    for (const buffer of buffers) this.#waiting.push('records', buffer, { isWhole: false });
    while (this.#waiting.cost > this.#maxBytes && this.#waiting.length > 1)
      this.#droppedBytes += this.#waiting.shift()?.bytes.length ?? 0;
  }
}
