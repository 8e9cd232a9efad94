/** Bounds of an exponential, jittered delay. */
export interface BackoffBounds {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * The delay before try number `failures + 1`, `failures` being at least 1: uniform between `minMs` and twice the previous
 * ceiling, never above `maxMs`. `random` gives [0, 1). A server's Retry-After is a lower bound, with up to a tenth added so that
 * clients that were refused together do not come back together.
 */
export function backoffMs(
  bounds: BackoffBounds,
  tries: { readonly failures: number; readonly retryAfterMs?: number | undefined },
  random: () => number,
): number {
  const ceiling = Math.min(bounds.maxMs, bounds.minMs * 2 ** Math.min(tries.failures, 30));
  const delay = bounds.minMs + random() * Math.max(0, ceiling - bounds.minMs);
  if (tries.retryAfterMs === undefined) return delay;
  return Math.max(delay, tries.retryAfterMs * (1 + random() / 10));
}
