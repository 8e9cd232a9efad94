/** The newest text of a log that is followed: a page that keeps all of it would end by its size. */
const MAX_CHARACTERS = 1_000_000;
/** What stays of it when it is cut. Less, so that not every line that comes copies all others. */
const KEPT_CHARACTERS = 950_000;

/** Decodes a log as it comes and keeps the newest lines of it. */
export class LogTail {
  readonly #decoder = new TextDecoder();
  #text = '';
  #isCut = false;

  push(chunk: Uint8Array): void {
    this.#text += this.#decoder.decode(chunk, { stream: true });
    if (this.#text.length <= MAX_CHARACTERS) return;
    const from = this.#text.length - KEPT_CHARACTERS;
    // At the begin of a line, unless there is none.
    this.#text = this.#text.slice(Math.max(from, this.#text.indexOf('\n', from) + 1));
    this.#isCut = true;
  }

  get text(): string {
    return this.#text;
  }

  /** Whether older text is missing. */
  get isCut(): boolean {
    return this.#isCut;
  }
}
