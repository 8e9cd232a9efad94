import { safeText } from '@coxswain/safe-text';

/** Longest line that is waited for; a longer one is shown in pieces. */
const MAX_LINE_CHARACTERS = 65_536;

/**
 * A log as a terminal may show it: a program in a pod writes what it likes, and a terminal obeys it (titles, clipboard, answers typed for the
 * user). Whole lines at a time, so that a sequence which is cut in two by the network is still seen.
 */
export class LogText {
  readonly #decoder = new TextDecoder();
  #pending = '';

  /** What can be shown now that this has come. */
  push(chunk: Uint8Array): string {
    return this.#shown(this.#pending + this.#decoder.decode(chunk, { stream: true }));
  }

  /** What was waiting for the end of its line. */
  end(): string {
    const rest = this.#pending + this.#decoder.decode();
    this.#pending = '';
    return safeText(rest);
  }

  #shown(text: string): string {
    const lines = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1;
    const end = text.length - lines > MAX_LINE_CHARACTERS ? text.length : lines;
    this.#pending = text.slice(end);
    return safeText(text.slice(0, end));
  }
}
