/**
 * How are bytes of a rank's output written to a kept log? As container runtimes write logs (CRI): `TIME STREAM TAG BYTES`, a record a line. Tag F ends a
 * line of the output; tag P is a part of one. So a line can have any length, and its bytes are kept as they are. The stream `launcher` has sentences of the launcher.
 */
export type LogStream = 'stdout' | 'stderr' | 'launcher';

const NEWLINE = 0x0a;
const SPACE = 0x20;
/** Longest part of a line in one record; container runtimes split there too. */
const MAX_PART_BYTES = 16_384;
/** Records are passed on in buffers of about this size, so that what is dropped or rotated is little. */
const MAX_BUFFER_BYTES = 32_768;
const TIME_LENGTH = '2026-01-01T00:00:00.000Z'.length;
const EMPTY = Buffer.alloc(0);

/** Makes records of the bytes of one stream. */
export class RecordEncoder {
  readonly #stream: LogStream;
  /** What came after the last newline, until it is a whole part or {@link flush} is called. */
  #rest: Buffer = EMPTY;

  constructor(stream: LogStream) {
    this.#stream = stream;
  }

  /** Whether no line has begun. */
  get isEmpty(): boolean {
    return this.#rest.length === 0;
  }

  /** Whole records, in buffers that share no memory with `chunk`. */
  push(chunk: Buffer, time: Date): readonly Buffer[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const out = new RecordBuffers(time, this.#stream);
    let start = 0;
    for (;;) {
      const end = bytes.indexOf(NEWLINE, start);
      const most = end === -1 ? bytes.length : end;
      for (; most - start > MAX_PART_BYTES; start += MAX_PART_BYTES)
        out.add(bytes.subarray(start, start + MAX_PART_BYTES), 'P');
      if (end === -1) break;
      out.add(bytes.subarray(start, end), 'F');
      start = end + 1;
    }
    this.#rest = Buffer.from(bytes.subarray(start));
    return out.take();
  }

  /** The rest as a part, so that it is not lost with the process. */
  flush(time: Date): readonly Buffer[] {
    if (this.#rest.length === 0) return [];
    const out = new RecordBuffers(time, this.#stream);
    out.add(this.#rest, 'P');
    this.#rest = EMPTY;
    return out.take();
  }
}

/** One sentence of the launcher. */
export function launcherRecord(sentence: string, time: Date): Buffer {
  return Buffer.from(`${time.toISOString()} launcher F ${sentence.replaceAll('\n', ' ')}\n`);
}

class RecordBuffers {
  readonly #heads: Readonly<Record<'P' | 'F', Buffer>>;
  #parts: Buffer[] = [];
  #bytes = 0;
  readonly #buffers: Buffer[] = [];

  constructor(time: Date, stream: LogStream) {
    const head = (tag: string): Buffer => Buffer.from(`${time.toISOString()} ${stream} ${tag} `, 'latin1');
    this.#heads = { P: head('P'), F: head('F') };
  }

  add(bytes: Buffer, tag: 'P' | 'F'): void {
    this.#parts.push(this.#heads[tag], bytes, NEWLINE_BYTES);
    this.#bytes += this.#heads[tag].length + bytes.length + 1;
    if (this.#bytes >= MAX_BUFFER_BYTES) this.#close();
  }

  take(): readonly Buffer[] {
    if (this.#bytes > 0) this.#close();
    return this.#buffers;
  }

  #close(): void {
    this.#buffers.push(Buffer.concat(this.#parts, this.#bytes));
    this.#parts = [];
    this.#bytes = 0;
  }
}

const NEWLINE_BYTES = Buffer.from('\n');

/** A record of a kept log. */
export interface LogRecord {
  readonly timeMs: number;
  readonly stream: LogStream;
  /** Whether it ends a line. */
  readonly isEnd: boolean;
  readonly bytes: Buffer;
}

/** The record in a line without its newline; undefined: the line is none, because its writer was killed in it. */
export function parseRecord(line: Buffer): LogRecord | undefined {
  const timeMs = Date.parse(line.toString('latin1', 0, TIME_LENGTH));
  const streamEnd = line.indexOf(SPACE, TIME_LENGTH + 1);
  if (Number.isNaN(timeMs) || streamEnd === -1 || line[TIME_LENGTH] !== SPACE) return undefined;
  const stream = line.toString('latin1', TIME_LENGTH + 1, streamEnd);
  const tag = line.toString('latin1', streamEnd + 1, streamEnd + 3);
  if (!isStream(stream) || (tag !== 'P ' && tag !== 'F ')) return undefined;
  return { timeMs, stream, isEnd: tag === 'F ', bytes: line.subarray(streamEnd + 3) };
}

function isStream(text: string): text is LogStream {
  return text === 'stdout' || text === 'stderr' || text === 'launcher';
}
