/** The program of the pod that reads kept logs. */
import type { KeptLogsQuestion } from '@coxswain/api-types';
import type { CheckpointStore } from '@coxswain/checkpoint-store';
import { LineFilter, type NamedLine } from './line-filter.ts';
import { parseRecord } from './log-records.ts';
import { parseSegmentPath, type Segment } from './log-segments.ts';

/** Longest line that is put together; a longer one is shown in pieces. */
const MAX_LINE_BYTES = 16 * 1_048_576;
const NEWLINE = 0x0a;
const EMPTY = Buffer.alloc(0);

interface StoredSegment extends Segment {
  readonly path: string;
  readonly bytes: number;
}

/** Writes the wanted lines, after one line with a `KeptLogsAnswer`. */
export async function readKeptLogs(
  question: KeptLogsQuestion,
  store: Pick<CheckpointStore, 'list' | 'read'>,
  write: (bytes: Buffer | string) => Promise<void>,
): Promise<void> {
  const { folder, attempt, rank, maxBytes } = question;
  const segments = segmentsIn(await store.list(`${folder}/attempt-${attempt}`), folder).filter(
    ({ epoch, firstRank, lastRank }) =>
      epoch === attempt && (rank === undefined || (firstRank <= rank && rank <= lastRank)),
  );
  if (segments.length === 0) {
    const attempts = [...new Set(segmentsIn(await store.list(folder), folder).map(({ epoch }) => epoch))];
    return await write(`${JSON.stringify({ keptLogs: 1, segments: 0, attempts: attempts.sort((a, b) => a - b) })}\n`);
  }
  await write(`${JSON.stringify({ keptLogs: 1, segments: segments.length, attempts: [attempt] })}\n`);
  const writers = Object.values(Object.groupBy(segments, ({ firstRank }) => firstRank)).map((own = []) => own);
  for (const own of writers)
    await readWriter(own, question, { store, write, maxBytes: Math.floor(maxBytes / writers.length) });
}

interface Reading {
  readonly store: Pick<CheckpointStore, 'read'>;
  readonly write: (bytes: Buffer | string) => Promise<void>;
  readonly maxBytes: number;
}

async function readWriter(
  segments: readonly StoredSegment[],
  { sinceMs = -Infinity, grep, tailLines }: KeptLogsQuestion,
  { store, write, maxBytes }: Reading,
): Promise<void> {
  const [first] = segments;
  if (first === undefined) return;
  const { firstRank, lastRank } = first;
  const name = firstRank === lastRank ? `rank ${firstRank}` : `ranks ${firstRank}-${lastRank}`;
  const filter = new LineFilter({ name, grep, tailLines });
  const chosen = newestWithin(segments, maxBytes).filter(
    // The next segment begins where this one ends.
    (_, index, all) => (all[index + 1]?.startMs ?? Infinity) >= sinceMs,
  );
  if (chosen.length > 0 && chosen[0] !== first && sinceMs < (chosen[0]?.startMs ?? 0))
    await write(
      `[coxswain] Older lines of ${name} are left out: an answer has at most ${maxBytes} bytes of it. Use --since or --rank.\n`,
    );
  const lines = new LineJoiner();
  for (const { path, bytes } of chosen) {
    let content: Buffer;
    try {
      content = Buffer.from(await store.read(path, 0, bytes));
    } catch (error) {
      // Its writer can remove the oldest segments meanwhile.
      await write(`[coxswain] A part of the log of ${name} cannot be read: ${(error as Error).message}\n`);
      continue;
    }
    for (const line of lines.push(content, sinceMs)) for (const shown of filter.push(line)) await write(shown);
  }
  for (const line of lines.end()) for (const shown of filter.push(line)) await write(shown);
  for (const shown of filter.end()) await write(shown);
}

/** Puts lines together from records. Parts of the lines of both streams can be mixed. */
class LineJoiner {
  readonly #open = new Map<string, { parts: Buffer[]; bytes: number }>();

  push(content: Buffer, sinceMs: number): readonly NamedLine[] {
    const lines: NamedLine[] = [];
    let start = 0;
    for (let end = content.indexOf(NEWLINE); end !== -1; end = content.indexOf(NEWLINE, start)) {
      const record = parseRecord(content.subarray(start, end));
      start = end + 1;
      if (record === undefined || record.timeMs < sinceMs) continue;
      const { stream, bytes, isEnd } = record;
      // What was dropped there can be the rest of a line.
      if (stream === 'launcher') lines.push(...this.end());
      const open = this.#open.get(stream) ?? { parts: [], bytes: 0 };
      open.parts.push(bytes);
      open.bytes += bytes.length;
      if (!isEnd && open.bytes < MAX_LINE_BYTES) {
        this.#open.set(stream, open);
        continue;
      }
      this.#open.delete(stream);
      lines.push({ isOfLauncher: stream === 'launcher', bytes: Buffer.concat(open.parts, open.bytes) });
    }
    return lines;
  }

  /** Lines without an end. */
  end(): readonly NamedLine[] {
    const lines = [...this.#open.values()].map(({ parts }) => ({ isOfLauncher: false, bytes: Buffer.concat(parts) }));
    this.#open.clear();
    return lines.filter(({ bytes }) => bytes.length > EMPTY.length);
  }
}

function newestWithin(segments: readonly StoredSegment[], maxBytes: number): readonly StoredSegment[] {
  let sum = 0;
  const from = segments.findLastIndex(({ bytes }) => (sum += bytes) > maxBytes);
  // The newest one, whatever its size is.
  return segments.slice(Math.min(from + 1, segments.length - 1));
}

/** Oldest first. A link is no segment: it can lead out of the folder. */
function segmentsIn(
  files: readonly { readonly path: string; readonly bytes: number; readonly isLink?: boolean }[],
  folder: string,
): readonly StoredSegment[] {
  return files
    .flatMap(({ path, bytes, isLink }) => {
      const segment = isLink === true ? undefined : parseSegmentPath(path.slice(folder.length + 1));
      return segment === undefined ? [] : [{ ...segment, path, bytes }];
    })
    .sort((one, other) => one.incarnation - other.incarnation || one.number - other.number);
}
