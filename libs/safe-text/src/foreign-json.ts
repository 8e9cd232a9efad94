import { safeText } from './safe-text.ts';

/** How JSON spells what it cannot hold raw; tab and newline are safe. */
const ESCAPED_CONTROL = /\\[ubfr]/;

/**
 * JSON that somebody else wrote, as a value in which every text is safe, keys too. Throws a SyntaxError when it is no JSON. Its shape is
 * still to be checked.
 */
export function parseForeignJson(json: string): unknown {
  const value: unknown = JSON.parse(json);
  // Neither raw nor escaped: then no text in it can be unsafe.
  return ESCAPED_CONTROL.test(json) || safeText(json) !== json ? safeIn(value) : value;
}

function safeIn(value: unknown): unknown {
  if (typeof value === 'string') return safeText(value);
  if (Array.isArray(value)) return value.map(safeIn);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [safeText(key), safeIn(part)]));
}
