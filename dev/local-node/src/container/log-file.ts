import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';

/** One line of a container's log, as the container runtime interface writes it. */
export interface LogLine {
  /** RFC 3339 with nanoseconds. */
  readonly time: string;
  readonly stream: 'stdout' | 'stderr';
  /** False for a part of a line that was too long; the next entry of its stream continues it. */
  readonly isWhole: boolean;
  readonly text: string;
}

/** Parses one line of a log file; undefined when it is none. */
export function parseLogLine(line: string): LogLine | undefined {
  const match = /^(\S+) (stdout|stderr) ([FP]) (.*)$/s.exec(line);
  if (match === null) {
    return undefined;
  }
  const [, time = '', stream, tag, text = ''] = match;
  return { time, stream: stream as 'stdout' | 'stderr', isWhole: tag === 'F', text };
}

const CHUNK_BYTES = 64 * 1024;

/** Reads a growing log file from its start, whole lines at a time. */
export class LogReader {
  readonly #path: string;
  #position = 0;
  #pending: Buffer = Buffer.alloc(0);

  constructor(path: string) {
    this.#path = path;
  }

  /** The lines that have come since the last call; at most about 1 MiB of them, call again until there are none. */
  read(): LogLine[] {
    if (!existsSync(this.#path)) {
      return [];
    }
    const file = openSync(this.#path, 'r');
    try {
      const chunks = [this.#pending];
      const end = Math.min(fstatSync(file).size, this.#position + 16 * CHUNK_BYTES);
      while (this.#position < end) {
        const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, end - this.#position));
        this.#position += readSync(file, chunk, 0, chunk.length, this.#position);
        chunks.push(chunk);
      }
      const data = Buffer.concat(chunks);
      const last = data.lastIndexOf(10) + 1;
      this.#pending = data.subarray(last);
      const lines = data.subarray(0, last).toString('utf8').split('\n').slice(0, -1);
      return lines.flatMap((line) => parseLogLine(line) ?? []);
    } finally {
      closeSync(file);
    }
  }

  /** Every line up to the present end. */
  readAll(): LogLine[] {
    const all: LogLine[] = [];
    for (let lines = this.read(); lines.length > 0; lines = this.read()) {
      all.push(...lines);
    }
    return all;
  }
}

/** The end of a log for a termination message: at most `maxLines` lines and `maxBytes` bytes of UTF-8. */
export function logTail(path: string, maxLines: number, maxBytes: number): string {
  const text = new LogReader(path)
    .readAll()
    .slice(-maxLines)
    .map((line) => (line.isWhole ? `${line.text}\n` : line.text))
    .join('');
  return lastBytes(text, maxBytes);
}

/** The end of `text` in at most `maxBytes` bytes of UTF-8, without half a character at its start. */
export function lastBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) {
    return text;
  }
  let start = bytes.length - maxBytes;
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) {
    start += 1;
  }
  return bytes.subarray(start).toString('utf8');
}
