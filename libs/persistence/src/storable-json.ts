/** NUL, or half of a surrogate pair, as `JSON.stringify` writes it; behind an even number of backslashes, else it is text about escapes. */
const UNSTORABLE = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g;

/**
 * JSON that PostgreSQL stores. Text that programs and clusters send may hold a NUL or half of a surrogate pair, in values and in keys
 * alike; `jsonb` and `text` refuse them. Each becomes U+FFFD, so that one strange character does not keep everything else from being written.
 */
export function storableJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(UNSTORABLE, '$1\\ufffd');
}

/** The same for text that is a column of its own. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
