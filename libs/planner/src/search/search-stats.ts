/** What became of every layout of the space? */
import { GIB_BYTES } from '@coxswain/units';

/** `enumerated` is the sum of all others but `evaluated`. */
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

export function newStats(): SearchStats {
  return { enumerated: 0, ruledOut: new Map(), bounded: 0, repeated: 0, timed: 0, evaluated: 0 };
}

/** Counts `count` layouts as ruled out; the first of a rule is its example. */
export function countRuledOut(stats: SearchStats, rule: string, count: number, exampleOf: () => string): void {
  const known = stats.ruledOut.get(rule);
  if (known === undefined) stats.ruledOut.set(rule, { count, example: exampleOf() });
  else known.count += count;
}

/** Bytes are infinite where the host has not room for what is offloaded. */
export function tooLarge(bytes: number, limit: number): string {
  if (bytes === Infinity) return 'offloads more than the memory of its host holds';
  return `needs at least ${(bytes / GIB_BYTES).toFixed(1)} GiB per GPU, but ${(limit / GIB_BYTES).toFixed(1)} GiB may be used`;
}

export function tooSlow(seconds: number, limit: number): string {
  return `takes at least ${seconds.toPrecision(3)} s per step, but the deadline allows ${limit.toPrecision(3)} s`;
}

/** Memory and the deadline exclude layouts that are legal. */
export function isRule({ rule }: { readonly rule: string }): boolean {
  return rule !== 'memory' && rule !== 'deadline';
}
