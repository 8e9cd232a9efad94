/**
 * Makes text of untrusted writers (a pod, a node, a user, a server) safe to store, compare and show. Lengths are in UTF-16 code units, as `String.length` counts;
 * the API server counts characters, which are never more.
 */

/** Control sequences for terminals. */
const TERMINAL_SEQUENCE = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g;
/** Characters that some programs treat as the end of a line: YAML folds U+0085, a terminal returns to the start of the line at a carriage return. */
const LINE_END = /\r\n?|[\u0085\u2028\u2029]/g;
/**
 * Controls but tab and newline, halves of surrogate pairs, noncharacters, and what turns the direction of writing. The API server answers
 * a half in JSON with U+FFFD, so that what was written is never what is read; YAML refuses C1, U+FFFE and U+FFFF; a terminal obeys the rest.
 */
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\p{Surrogate}\p{Noncharacter_Code_Point}\p{Bidi_Control}]/gu;
/** Any unsafe character or sequence. */
const SUSPECT =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Surrogate}\p{Noncharacter_Code_Point}\p{Bidi_Control}]/u;
const ALL_SUSPECT = new RegExp(SUSPECT, 'gu');

const UNKNOWN = '\ufffd';
const CUT = '…';

/**
 * Safe text of at most `maxLength` code units: terminal sequences are removed, every line ends with a newline, and other unsafe characters become U+FFFD. Safe text
 * does not change, so the function is idempotent.
 */
export function safeText(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  if (!SUSPECT.test(text)) return cutText(text, maxLength);
  const clean = text.replaceAll(TERMINAL_SEQUENCE, '').replaceAll(LINE_END, '\n').replaceAll(UNSAFE, UNKNOWN);
  return cutText(clean, maxLength);
}

/**
 * The text of a JSON document, or of a YAML document whose unsafe characters all stand in double quotes, with these characters as `\uXXXX`. A parser reads the
 * same values, and a terminal that shows the document obeys none of them. {@link safeText} leaves the result as it is.
 */
export function escapeUnsafe(document: string): string {
  return SUSPECT.test(document) ? document.replaceAll(ALL_SUSPECT, codeUnitEscapes) : document;
}

/** Whether {@link safeText} would change the text. */
export function isUnsafe(text: string): boolean {
  return SUSPECT.test(text);
}

function codeUnitEscapes(character: string): string {
  return [...Array(character.length).keys()]
    .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
    .join('');
}

/** The beginning of a text, at most `maxLength` code units, with an ellipsis if it was cut. It never ends within a surrogate pair. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const kept = text.slice(0, Math.max(0, maxLength - CUT.length));
  return `${endsInHalf(kept) ? kept.slice(0, -1) : kept}${CUT}`;
}

/** The end of a text, at most `maxLength` code units, with an ellipsis if it was cut. */
export function endOfText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const kept = text.slice(text.length - Math.max(0, maxLength - CUT.length));
  return `${CUT}${beginsInHalf(kept) ? kept.slice(1) : kept}`;
}

function endsInHalf(text: string): boolean {
  return (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800;
}

function beginsInHalf(text: string): boolean {
  return (text.charCodeAt(0) & 0xfc00) === 0xdc00;
}
