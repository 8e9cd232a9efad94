/**
 * Orders two resourceVersions of one resource type: negative when `a` is older, 0 when equal, positive when newer.
 * The numbers go beyond 2^53, so they are compared as decimal text. `undefined` when either is not a plain decimal: then
 * nothing may be concluded.
 */
export function compareResourceVersions(a: string | undefined, b: string | undefined): number | undefined {
  if (a === undefined || b === undefined || !DECIMAL.test(a) || !DECIMAL.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The newer of two resourceVersions; the one that is a plain decimal when only one is. */
export function newerResourceVersion(a: string | undefined, b: string | undefined): string | undefined {
  const order = compareResourceVersions(a, b);
  if (order !== undefined) return order >= 0 ? a : b;
  return a !== undefined && DECIMAL.test(a) ? a : b;
}

const DECIMAL = /^(0|[1-9][0-9]*)$/;
