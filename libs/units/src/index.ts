/** Constants and formats of durations (milliseconds), sizes (bytes) and counts; Kubernetes quantities; rate limits and shares of places. */

export { quantityOf } from './quantity.ts';
export { type Rate, TokenBucket } from './token-bucket.ts';
export type { Claim, PlaceBounds } from './shared-places.ts';
export { type NoTurn, TurnGate } from './turn-gate.ts';

/** Milliseconds of a second. */
export const SECOND_MS = 1_000;
/** Milliseconds of a minute. */
export const MINUTE_MS = 60 * SECOND_MS;
/** Milliseconds of an hour. */
export const HOUR_MS = 60 * MINUTE_MS;
/** Milliseconds of a day. */
export const DAY_MS = 24 * HOUR_MS;

/** Bits of a byte, to convert the rates of networks. */
export const BITS_PER_BYTE = 8;
/** Bytes of a KiB. */
export const KIB_BYTES = 1024;
/** Bytes of a MiB. */
export const MIB_BYTES = 1024 * KIB_BYTES;
/** Bytes of a GiB. */
export const GIB_BYTES = 1024 * MIB_BYTES;
const TIB_BYTES = 1024 * GIB_BYTES;

/** `5_025` → `5.0 s`, `95_000` → `1 min 35 s`; negative durations count as zero. */
export function formatDuration(durationMs: number): string {
  const ms = Math.max(0, durationMs);
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${(ms / SECOND_MS).toFixed(1)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ${Math.floor((ms % MINUTE_MS) / SECOND_MS)} s`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ${Math.floor((ms % HOUR_MS) / MINUTE_MS)} min`;
  return `${Math.floor(ms / DAY_MS)} d ${Math.floor((ms % DAY_MS) / HOUR_MS)} h`;
}

/** `1, 'node'` → `1 node`, `10_000, 'node'` → `10,000 nodes`; for nouns whose plural ends in s. */
export function formatCount(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** `1_572_864` → `1.5 MiB`; binary prefixes, one decimal. */
export function formatBytes(bytes: number): string {
  if (bytes < KIB_BYTES) return `${Math.round(bytes)} B`;
  if (bytes < MIB_BYTES) return `${(bytes / KIB_BYTES).toFixed(1)} KiB`;
  if (bytes < GIB_BYTES) return `${(bytes / MIB_BYTES).toFixed(1)} MiB`;
  if (bytes < TIB_BYTES) return `${(bytes / GIB_BYTES).toFixed(1)} GiB`;
  return `${(bytes / TIB_BYTES).toFixed(1)} TiB`;
}
