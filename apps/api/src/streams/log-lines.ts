/** Lines of logs of any bytes, as they come. */
const NEWLINE = 0x0a;
/** Longest line that is put together; a longer one counts as several. */
const MAX_LINE_BYTES = 1_048_576;

/** Of more, the oldest are left out. */
const MAX_LAST_BYTES = 4 * MAX_LINE_BYTES;

type Body = AsyncIterable<Uint8Array>;

/** Whole lines with their newline; the last one may have none. */
async function* linesOf(body: Body): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const part of body) {
    const chunk = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...rest, chunk.subarray(start, end + 1)]);
      rest = [];
      restBytes = 0;
      start = end + 1;
    }
    rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
    if (restBytes <= MAX_LINE_BYTES) continue;
    yield Buffer.concat(rest);
    rest = [];
    restBytes = 0;
  }
  if (restBytes > 0) yield Buffer.concat(rest);
}

/** The lines that contain `text`. */
export async function* grepLines(body: Body, text: string): AsyncGenerator<Buffer> {
  const wanted = Buffer.from(text);
  for await (const line of linesOf(body)) if (line.includes(wanted)) yield line;
}

/** The last lines, once all have come. */
export async function* lastLines(lines: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  const last: Buffer[] = [];
  let bytes = 0;
  for await (const line of lines) {
    last.push(line);
    bytes += line.length;
    while (last.length > count || bytes > MAX_LAST_BYTES) bytes -= last.shift()?.length ?? 0;
  }
  yield* last;
}

/** One log after the other. */
export async function* concatenated(
  bodies: Iterable<() => Promise<Body | Iterable<Uint8Array>>>,
): AsyncGenerator<Uint8Array> {
  for (const open of bodies) yield* await open();
}

/** The lines of all logs in the order in which they come. If one fails, so does the whole. */
export async function* mergedLines(bodies: readonly Body[]): AsyncGenerator<Buffer> {
  const waiting = new Map(bodies.map((body) => [linesOf(body), undefined as Promise<NextLine> | undefined]));
  try {
    while (waiting.size > 0) {
      for (const [lines, next] of waiting)
        if (next === undefined)
          waiting.set(
            lines,
            lines.next().then((result) => ({ lines, result })),
          );
      const { lines, result } = await Promise.race([...waiting.values()].filter((next) => next !== undefined));
      if (result.done === true) {
        waiting.delete(lines);
        continue;
      }
      waiting.set(lines, undefined);
      yield result.value;
    }
  } finally {
    for (const lines of waiting.keys()) void lines.return(undefined).catch(() => undefined);
  }
}

interface NextLine {
  readonly lines: AsyncGenerator<Buffer>;
  readonly result: IteratorResult<Buffer>;
}
