import type { Writable } from 'node:stream';
import { progressMark } from '@coxswain/api-types';
import { LineSplitter, type Line } from './line-splitter.ts';

/** Longest line that is passed on; the rest of a longer one is cut. Container runtimes split lines at 16 KiB. */
export const MAX_LOG_LINE_BYTES = 65_536;
/** How much may wait for a slow reader of the container's log before lines are dropped. */
export const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/** Lines per rank that are kept to explain an end. */
const TAIL_LINES = 20;
/** Enough for 512 characters of UTF-8. */
const TAIL_LINE_BYTES = 2048;

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** How much of the newest output of each writer is kept while lines are dropped: how a program ended is at the end of its output. */
const MAX_KEPT_BYTES = 65_536;

/** Whole lines that one writer has written, and that are put together only if they are passed on. */
interface Output {
  readonly lines: number;
  readonly bytes: number;
  readonly make: () => Buffer;
}

/**
 * Writes whole lines to one of the container's own streams and never blocks. Output that is not read in time is dropped, and a line counts
 * it. The newest lines of each writer are kept, so that a writer of much output hides neither its own end nor that of others.
 */
export class LogSink {
  readonly #stream: Writable;
  /** By writer, oldest first. Empty unless the stream has no room. A rank that flushes each line leaves thousands here, so none is walked for a line. */
  readonly #kept = new Map<string, { readonly outputs: Output[]; bytes: number }>();
  #keptBytes = 0;
  #droppedLines = 0;
  #droppedBytes = 0;
  #isGone = false;

  constructor(stream: Writable) {
    this.#stream = stream;
    // A reader that went away must not end the training.
    stream.on('error', () => {
      this.#isGone = true;
    });
    stream.on('drain', () => this.#writeKept());
  }

  /** Writes `lines` whole lines of so many bytes of that writer, which are made only where there is room for them. */
  write(writer: string, lines: number, bytes: number, make: () => Buffer): void {
    if (this.#isGone) return;
    if (this.#stream.writableLength + this.#keptBytes + bytes > MAX_WAITING_BYTES)
      return this.#keep(writer, { lines, bytes, make });
    this.#writeKept();
    this.#stream.write(make());
  }

  /** One sentence of the launcher's own. */
  logLine(sentence: string): void {
    const line = Buffer.from(`[launcher] ${sentence}\n`);
    this.write('launcher', 1, line.length, () => line);
  }

  /** Waits until everything is written, or until `deadlineMs` have passed. */
  async drain(deadlineMs: number): Promise<void> {
    if (this.#isGone) return;
    this.#writeKept();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, deadlineMs);
      this.#stream.write('', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #keep(writer: string, output: Output): void {
    const kept = this.#kept.get(writer) ?? { outputs: [], bytes: 0 };
    this.#kept.set(writer, kept);
    kept.outputs.push(output);
    kept.bytes += output.bytes;
    this.#keptBytes += output.bytes;
    while (kept.outputs.length > 1 && kept.bytes > MAX_KEPT_BYTES) {
      const { lines, bytes } = kept.outputs.shift() ?? { lines: 0, bytes: 0 };
      kept.bytes -= bytes;
      this.#keptBytes -= bytes;
      this.#droppedLines += lines;
      this.#droppedBytes += bytes;
    }
  }

  #writeKept(): void {
    if (this.#kept.size === 0) return;
    const kept = [...this.#kept.values()].flatMap(({ outputs }) => outputs);
    this.#kept.clear();
    this.#keptBytes = 0;
    this.#logDropped();
    for (const { make } of kept) this.#stream.write(make());
  }

  #logDropped(): void {
    if (this.#droppedLines === 0) return;
    const what = `${this.#droppedLines} lines (${this.#droppedBytes} bytes)`;
    this.#droppedLines = 0;
    this.#droppedBytes = 0;
    this.#stream.write(`[launcher] ${what} of output were dropped because they were not read in time.\n`);
  }
}

/**
 * Steps of each rank that show that it trained on after a line, and how long after it they come. One step may have been under way: its report and an
 * exception's text take different ways.
 */
const STEPS_AFTER_A_LINE = 2;
const QUIET_MS = 1_000;
/** Lines that may be taken for the reason of an end. */
const OF_TROUBLE = /error|exception|traceback|fail|warn|abort|killed|refused|timed out|memory/i;

/** The last lines that the ranks of a process wrote on either stream, oldest first, with a mark behind those that they survived. */
export class LogTail {
  readonly #rankCount: number;
  readonly #now: () => number;
  #lines: Buffer[] = [];
  #lastLineAt = 0;
  /** Of each rank since the last line: its newest step, and how many came. */
  readonly #steps = new Map<number, { readonly step: number; readonly count: number }>();
  /** The newest mark: its step, and how many of the lines are before it. */
  #mark: { readonly step: number; readonly before: number } | undefined;

  /** `now`: monotonic, in milliseconds. */
  constructor(rankCount = 1, now: () => number = () => performance.now()) {
    this.#rankCount = rankCount;
    this.#now = now;
  }

  push(lines: readonly Line[]): void {
    const written = lines
      .slice(-TAIL_LINES)
      .map(({ bytes }) => lastShown(bytes))
      .filter(({ length }) => length > 0);
    if (written.length === 0) return;
    this.#lines.push(...written.map((bytes) => Buffer.from(bytes.subarray(0, TAIL_LINE_BYTES))));
    const dropped = Math.max(0, this.#lines.length - TAIL_LINES);
    this.#lines = this.#lines.slice(dropped);
    if (this.#mark !== undefined) this.#mark = { ...this.#mark, before: this.#mark.before - dropped };
    this.#steps.clear();
    this.#lastLineAt = this.#now();
  }

  /** A rank ended a step. */
  noteStep(rank: number, step: number): void {
    if (this.#now() - this.#lastLineAt < QUIET_MS) return;
    const { step: newest = -1, count = 0 } = this.#steps.get(rank) ?? {};
    if (step > newest) this.#steps.set(rank, { step, count: count + 1 });
    const all = [...this.#steps.values()];
    if (all.length < this.#rankCount || all.some((one) => one.count < STEPS_AFTER_A_LINE)) return;
    this.#mark = { step: Math.min(...all.map((one) => one.step)), before: this.#lines.length };
  }

  /** As text; bytes that are no UTF-8 become U+FFFD. */
  read(): readonly string[] {
    const lines = this.#lines.map((line) => line.toString('utf8'));
    const { step, before } = this.#mark ?? { step: 0, before: 0 };
    const survived = lines.slice(0, Math.max(0, before));
    if (!survived.some((line) => OF_TROUBLE.test(line))) return lines;
    return [...survived, progressMark(step), ...lines.slice(before)].slice(-TAIL_LINES);
  }
}

/** What a terminal shows of a line in the end: a progress bar writes over itself after each carriage return. */
function lastShown(line: Buffer): Buffer {
  const end = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length;
  return line.subarray(line.subarray(0, end).lastIndexOf(CARRIAGE_RETURN) + 1, end);
}

/** Where the lines of one stream go. */
export interface LogRelayOptions {
  /** Of what writes, in front of each line. */
  readonly name: string;
  readonly sink: LogSink;
  readonly tail: LogTail;
  /** Receives each line; returns whether the line is kept to explain a failure. */
  readonly watch?: ((line: Buffer) => boolean) | undefined;
}

/** Passes one stream of a process on to a sink, line by line, each with the name of the process in front. */
export class LogRelay {
  readonly #splitter = new LineSplitter(MAX_LOG_LINE_BYTES);
  readonly #options: LogRelayOptions;
  readonly #prefix: Buffer;

  constructor(options: LogRelayOptions) {
    this.#options = options;
    this.#prefix = Buffer.from(`[${options.name}] `);
  }

  push(chunk: Buffer): void {
    this.#pass(this.#splitter.push(chunk));
  }

  end(): void {
    const last = this.#splitter.end();
    if (last !== undefined) this.#pass([last]);
  }

  #pass(lines: readonly Line[]): void {
    if (lines.length === 0) return;
    const { sink, tail, watch } = this.#options;
    tail.push(watch === undefined ? lines : lines.filter(({ bytes }) => watch(bytes)));
    let size = 0;
    for (const line of lines) size += this.#prefix.length + line.bytes.length + markerOf(line).length + 1;
    sink.write(this.#options.name, lines.length, size, () => this.#written(lines, size));
  }

  #written(lines: readonly Line[], size: number): Buffer {
    const written = Buffer.allocUnsafe(size);
    let end = 0;
    for (const line of lines) {
      end += this.#prefix.copy(written, end);
      end += line.bytes.copy(written, end);
      end += written.write(markerOf(line), end, 'latin1');
      written[end++] = NEWLINE;
    }
    return written;
  }
}

function markerOf({ cutBytes }: Line): string {
  return cutBytes === 0 ? '' : ` [cut: ${cutBytes} more bytes]`;
}
