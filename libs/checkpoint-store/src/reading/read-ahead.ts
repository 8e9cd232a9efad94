/** Reads ranges of remote files with few requests: it combines small reads, and reads on where a reader goes through a file. */

/** What {@link ReadAhead} reads from. */
export type RangeReader = (path: string, offset: number, length: number) => Promise<Uint8Array>;

/** Bounds of a {@link ReadAhead}. */
export interface ReadAheadLimits {
  /** Smallest request: a round trip takes as long as these bytes. */
  readonly leastBytes: number;
  /** Largest request. */
  readonly pieceBytes: number;
  /** Requests at a time. */
  readonly parallel: number;
  /** Bytes kept for later reads. */
  readonly keptBytes: number;
}

const LIMITS: ReadAheadLimits = { leastBytes: 128 << 10, pieceBytes: 4 << 20, parallel: 8, keptBytes: 64 << 20 };

/** Bytes of a file that are here or on their way. */
interface Range {
  readonly path: string;
  readonly start: number;
  readonly end: number;
  /** Bytes before `start` that were fetched without a gap. */
  readonly before: number;
  readonly bytes: Promise<Uint8Array>;
}

/**
 * Reads through a bounded store of ranges. A read that continues fetched bytes fetches as many bytes ahead as it has already gone through,
 * up to `parallel` pieces, so at most half of what is fetched is not asked for.
 */
export class ReadAhead {
  readonly #read: RangeReader;
  readonly #sizes: ReadonlyMap<string, number>;
  readonly #limits: ReadAheadLimits;
  /** By path, in the order of their last use. */
  readonly #ranges = new Map<string, Set<Range>>();
  #inUse = 0;
  readonly #waiting: (() => void)[] = [];
  #kept = 0;
  readonly #order = new Set<Range>();

  /** `sizes`: bytes of each file; nothing is fetched beyond them. */
  constructor(read: RangeReader, sizes: ReadonlyMap<string, number>, limits: Partial<ReadAheadLimits> = {}) {
    this.#read = read;
    this.#sizes = sizes;
    this.#limits = { ...LIMITS, ...limits };
  }

  /** `length` bytes from `offset` on; fewer only if the file ends before. */
  async read(path: string, offset: number, length: number): Promise<Uint8Array> {
    const size = this.#sizes.get(path) ?? 0;
    const end = Math.min(offset + length, size);
    if (end <= offset) return new Uint8Array();
    if (end - offset > this.#limits.keptBytes / 2) return await this.#readPast(path, offset, end);
    const ranges: Range[] = [];
    for (let at = offset; at < end; at = ranges.at(-1)?.end ?? end)
      ranges.push(this.#find(path, at) ?? this.#fetch(path, at, end));
    this.#fetchAhead(path, end);
    const [only] = ranges;
    if (ranges.length === 1 && only !== undefined) {
      return (await only.bytes).subarray(offset - only.start, end - only.start);
    }
    return await joined(ranges, offset, end);
  }

  /** A read that is larger than what is kept: in pieces, straight into its result. */
  async #readPast(path: string, offset: number, end: number): Promise<Uint8Array> {
    const { pieceBytes } = this.#limits;
    const result = new Uint8Array(end - offset);
    const pieces = Math.ceil((end - offset) / pieceBytes);
    const lengths = await Promise.all(
      Array.from({ length: pieces }, async (_, index) => {
        const start = offset + index * pieceBytes;
        const bytes = await this.#inTurn(() => this.#read(path, start, Math.min(pieceBytes, end - start)));
        result.set(bytes, start - offset);
        return bytes.length;
      }),
    );
    const short = lengths.findIndex((length) => length < pieceBytes);
    return short < 0 ? result : result.subarray(0, short * pieceBytes + (lengths[short] ?? 0));
  }

  #find(path: string, at: number): Range | undefined {
    for (const range of this.#ranges.get(path) ?? []) {
      if (range.start <= at && at < range.end) {
        this.#order.delete(range);
        this.#order.add(range);
        return range;
      }
    }
    return undefined;
  }

  /**
   * Starts to fetch the bytes from `at` on: up to `end`, or more if the reader has come through the bytes before. A gap that is smaller than
   * what the reader has come through is fetched too: readers of archives look at the end of an item first.
   */
  #fetch(path: string, at: number, end: number): Range {
    const { leastBytes, pieceBytes } = this.#limits;
    const { start, before } = this.#continued(path, at);
    const wanted = Math.max(end - start, at - start + leastBytes, Math.min(before, pieceBytes));
    return this.#start(path, start, Math.min(wanted, pieceBytes), before);
  }

  /** Keeps fetching ahead of `at` if it was reached through the bytes before it. */
  #fetchAhead(path: string, at: number): void {
    const { pieceBytes, parallel } = this.#limits;
    const here = this.#find(path, at - 1);
    if (here === undefined) return;
    const through = here.before + at - here.start;
    if (through < pieceBytes) return;
    const until = Math.min(at + Math.min(through, parallel * pieceBytes), this.#sizes.get(path) ?? 0);
    for (let next = here.end; next < until;) {
      const range = this.#find(path, next) ?? this.#start(path, next, pieceBytes, next - here.start + here.before);
      next = range.end;
    }
  }

  #start(path: string, start: number, length: number, before: number): Range {
    const end = Math.min(start + length, this.#sizes.get(path) ?? 0, this.#nextAfter(path, start));
    const bytes = this.#inTurn(() => this.#read(path, start, end - start));
    const range: Range = { path, start, end, before, bytes };
    // An error belongs to the read that needs the bytes; a later read asks again.
    bytes.catch(() => this.#drop(range));
    this.#keep(range);
    return range;
  }

  /** Where to fetch from for a read at `at`, and how many bytes were fetched without a gap before that. */
  #continued(path: string, at: number): { readonly start: number; readonly before: number } {
    let nearest: Range | undefined;
    for (const range of this.#ranges.get(path) ?? [])
      if (range.end <= at && range.end > (nearest?.end ?? -1)) nearest = range;
    if (nearest === undefined) return { start: at, before: 0 };
    const through = this.#through(nearest);
    const isNear = at - nearest.end <= Math.min(through, this.#limits.pieceBytes / 2);
    return isNear ? { start: nearest.end, before: through } : { start: at, before: 0 };
  }

  /** Bytes without a gap up to the end of a range, up to a piece. */
  #through(range: Range): number {
    let first = range;
    const all = [...(this.#ranges.get(range.path) ?? [])];
    while (range.end - first.start + first.before < this.#limits.pieceBytes) {
      const previous = all.find(({ end }) => end === first.start);
      if (previous === undefined) break;
      first = previous;
    }
    return range.end - first.start + first.before;
  }

  #nextAfter(path: string, at: number): number {
    let next = Infinity;
    for (const { start } of this.#ranges.get(path) ?? []) if (start > at) next = Math.min(next, start);
    return next;
  }

  #keep(range: Range): void {
    const ofFile = this.#ranges.get(range.path) ?? new Set();
    this.#ranges.set(range.path, ofFile.add(range));
    this.#order.add(range);
    this.#kept += range.end - range.start;
    for (const oldest of this.#order) {
      if (this.#kept <= this.#limits.keptBytes || oldest === range) return;
      this.#drop(oldest);
    }
  }

  #drop(range: Range): void {
    if (!this.#order.delete(range)) return;
    this.#kept -= range.end - range.start;
    const ofFile = this.#ranges.get(range.path);
    ofFile?.delete(range);
    if (ofFile?.size === 0) this.#ranges.delete(range.path);
  }

  async #inTurn<Found>(work: () => Promise<Found>): Promise<Found> {
    if (this.#inUse >= this.#limits.parallel) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#inUse++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#inUse--;
      else next();
    }
  }
}

async function joined(ranges: readonly Range[], offset: number, end: number): Promise<Uint8Array> {
  const all = await Promise.all(ranges.map(({ bytes }) => bytes));
  const result = new Uint8Array(end - offset);
  let filled = 0;
  for (const [index, { start, end: rangeEnd }] of ranges.entries()) {
    const from = offset + filled - start;
    const wanted = Math.min(rangeEnd, end) - start - from;
    const part = (all[index] ?? new Uint8Array()).subarray(from, from + wanted);
    result.set(part, filled);
    filled += part.length;
    if (part.length < wanted) break; // The file ends before.
  }
  return result.subarray(0, filled);
}
