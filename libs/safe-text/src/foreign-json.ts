import { safeText } from './safe-text.ts';

/** Escape sequences in JSON that can stand for unsafe characters; tab and newline are safe. */
const ESCAPED_CONTROL = /\\[ubfr]/;

/**
 * Parses JSON of an untrusted writer. Every text in the value is safe, keys included. Throws a SyntaxError for invalid JSON. The caller must still check the shape.
 */
export function parseForeignJson(json: string): unknown {
  const value: unknown = JSON.parse(json);
  // Without raw or escaped unsafe characters, no text can be unsafe.
  return ESCAPED_CONTROL.test(json) || safeText(json) !== json ? safeIn(value) : value;
}

function safeIn(value: unknown): unknown {
  if (typeof value === 'string') return safeText(value);
  if (Array.isArray(value)) return value.map(safeIn);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [safeText(key), safeIn(part)]));
}
