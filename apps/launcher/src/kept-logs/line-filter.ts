/** A line of a kept log. */
export interface NamedLine {
  readonly isOfLauncher: boolean;
  readonly bytes: Buffer;
}

/** Newest lines that wait for the end of a log: of longer ones, the oldest are left out. */
const MAX_TAIL_BYTES = 64 * 1_048_576;
const NEWLINE = Buffer.from('\n');
const LAUNCHER = Buffer.from('[launcher] ');

/** Chooses lines, and puts in front of each who wrote it, as the log of a pod has it. */
export class LineFilter {
  readonly #prefix: Buffer;
  readonly #grep: Buffer | undefined;
  readonly #tailLines: number | undefined;
  #tail: Buffer[] = [];
  #tailBytes = 0;

  constructor(wanted: {
    readonly name: string;
    readonly grep?: string | undefined;
    readonly tailLines?: number | undefined;
  }) {
    this.#prefix = Buffer.from(`[${wanted.name}] `);
    this.#grep = wanted.grep === undefined ? undefined : Buffer.from(wanted.grep);
    this.#tailLines = wanted.tailLines;
  }

  /** What is to be written now. */
  push({ isOfLauncher, bytes }: NamedLine): readonly Buffer[] {
    if (this.#grep !== undefined && !bytes.includes(this.#grep)) return [];
    const line = Buffer.concat([isOfLauncher ? LAUNCHER : this.#prefix, bytes, NEWLINE]);
    if (this.#tailLines === undefined) return [line];
    this.#tail.push(line);
    this.#tailBytes += line.length;
    while (this.#tail.length > this.#tailLines || this.#tailBytes > MAX_TAIL_BYTES)
      this.#tailBytes -= this.#tail.shift()?.length ?? 0;
    return [];
  }

  /** What waited for the end. */
  end(): readonly Buffer[] {
    return this.#tail;
  }
}
