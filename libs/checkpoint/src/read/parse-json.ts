import { UnreadableSave } from './unreadable-save.ts';

/** Metadata of checkpoints has less. */
const MAX_DEPTH = 16;
/** So many objects and lists any metadata may hold. */
const OPENINGS_OF_ANY = 100_000;
/** Metadata of safetensors takes 12 to 40 bytes an object or list. */
const BYTES_OF_OPENING = 10;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `{` and `[` differ from `}` and `]` in the same bits, so that one comparison finds either. */
const CASE_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/**
 * JSON of a file that can be hostile: one level of lists takes two bytes, and 70 in memory.
 * @throws UnreadableSave if it holds more objects and lists than its size explains, or is no JSON.
 */
export function parseJson(bytes: Uint8Array, parse: (text: string) => unknown = (text) => JSON.parse(text)): unknown {
  checkShape(bytes);
  try {
    return parse(new TextDecoder().decode(bytes));
  } catch {
    throw new UnreadableSave('has a header that is no JSON object');
  }
}

/**
 * JSON as Python writes it: a number that is not finite is `NaN` or `Infinity` there, and null here. The Trainer's state has them if a gradient overflowed.
 * @throws SyntaxError if it is no JSON otherwise either.
 */
export function parsePythonJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return JSON.parse(withoutNotFinite(text));
  }
}

function withoutNotFinite(text: string): string {
  const token = /"|NaN|-?Infinity/g;
  const parts: string[] = [];
  let from = 0;
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    if (found[0] === '"') {
      token.lastIndex = endOfQuoted(text, found.index) + 1;
      continue;
    }
    parts.push(text.slice(from, found.index), 'null');
    from = token.lastIndex;
  }
  return parts.join('') + text.slice(from);
}

/** The index of the closing quote; the end of the text if there is none. */
function endOfQuoted(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
  return at;
}

function checkShape(bytes: Uint8Array): void {
  const maxOpenings = OPENINGS_OF_ANY + bytes.length / BYTES_OF_OPENING;
  let openings = 0;
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) at = endOfText(bytes, at);
    else if ((byte | CASE_BIT) === OPENING) {
      depth++;
      openings++;
      if (depth > MAX_DEPTH || openings > maxOpenings)
        throw new UnreadableSave('has a header of more objects and lists than its size explains');
    } else if ((byte | CASE_BIT) === CLOSING) depth--;
  }
}

/** Where the text ends that begins at `start`. */
function endOfText(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  for (; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
  return at;
}
