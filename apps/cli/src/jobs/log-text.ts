import { safeText } from '@coxswain/safe-text';

/** Longest line that is waited for; a longer one is shown in pieces. */
const MAX_LINE_CHARACTERS = 65_536;

/**
 * Makes a log safe for terminals. A program in a pod can write control sequences, and a terminal obeys them (titles, clipboard, answers typed for the
 * user), also when it shows a file later. Whole lines at a time, so that a sequence that the network cuts in two is still found.
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
