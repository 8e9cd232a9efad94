/** Counts how the search handled every layout of the space. */
import { GIB_BYTES } from '@coxswain/units';

/** Counts of a search. `enumerated` is the sum of all others except `evaluated`. */
export interface SearchStats {
  enumerated: number;
  /** By rule; 'memory' and 'deadline' are rules here as well. */
  readonly ruledOut: Map<string, { count: number; readonly example: string }>;
  bounded: number;
  /** Equal to a layout that is counted already. */
  repeated: number;
  timed: number;
  /** Of all layouts, those whose own bound was computed. */
  evaluated: number;
}

/** Counts of a search that has not begun. */
export function newStats(): SearchStats {
  return { enumerated: 0, ruledOut: new Map(), bounded: 0, repeated: 0, timed: 0, evaluated: 0 };
}

/** Counts `count` layouts as ruled out; the first of a rule is its example. */
export function countRuledOut(stats: SearchStats, rule: string, count: number, exampleOf: () => string): void {
  const known = stats.ruledOut.get(rule);
  if (known === undefined) stats.ruledOut.set(rule, { count, example: exampleOf() });
  else known.count += count;
}

/** The message for a layout that needs too much memory; `bytes` is infinite if the host memory is too small. */
export function formatTooLarge(bytes: number, limit: number): string {
  if (bytes === Infinity) return 'offloads more than the memory of its host holds';
  return `needs at least ${(bytes / GIB_BYTES).toFixed(1)} GiB per GPU, but ${(limit / GIB_BYTES).toFixed(1)} GiB may be used`;
}

/** The message for a layout that misses the deadline. */
export function formatTooSlow(seconds: number, limit: number): string {
  return `takes at least ${seconds.toPrecision(3)} s per step, but the deadline allows ${limit.toPrecision(3)} s`;
}

/** Whether an entry is a layout rule; memory and deadline are not. */
export function isRule({ rule }: { readonly rule: string }): boolean {
  return rule !== 'memory' && rule !== 'deadline';
}
