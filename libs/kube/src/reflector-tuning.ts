import type { BackoffBounds } from './backoff.ts';

/** Times and sizes; the defaults suit production, tests shorten them. */
export interface ReflectorTuning {
  /**
   * Between failed tries. The ceiling is 8 s although 30 s is customary: one try per 8 s and collection burdens no server, and a restored
   * connection is in use again within 10 s. A server that needs longer delays sends Retry-After.
   */
  readonly backoff: BackoffBounds;
  /** A watch ends itself after a random time between these, so that watches spread over replicas. */
  readonly watchTimeoutMs: BackoffBounds;
  /** A watch without a byte for so long is cut: bookmarks come about once a minute. Catches connections that died without an error. */
  readonly idleTimeoutMs: number;
  /** Time limit of one page of a list, and of a watch's answer head. */
  readonly requestTimeoutMs: number;
  readonly maxLineBytes: number;
}

/** What production uses. */
export const DEFAULT_TUNING: ReflectorTuning = {
  backoff: { minMs: 800, maxMs: 8_000 },
  watchTimeoutMs: { minMs: 300_000, maxMs: 600_000 },
  idleTimeoutMs: 100_000,
  requestTimeoutMs: 30_000,
  maxLineBytes: 16 * 1024 * 1024,
};
