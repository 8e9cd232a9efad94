/**
 * A condition and how long it may last before it has a consequence. The duration is measured by a monotonic clock of the operator from its
 * first observation. Times of others (API server, another replica) are never compared with a clock here, because either may be wrong by
 * hours. A new leader starts counting again, which makes a wait longer and never shorter.
 */
export interface Wait {
  /** Unique within the job, and different for each occasion: `e3/starting`, `deleted/<UID of the pod>/60`. */
  readonly key: string;
  readonly limitMs: number;
}

/** Milliseconds that each wait has lasted without a gap. No entry: it began now. */
export interface Elapsed {
  readonly elapsedMs: ReadonlyMap<string, number>;
}

/** Whether the wait has lasted for its limit. */
export function isOver(elapsed: Elapsed, wait: Wait): boolean {
  return remainingMs(elapsed, wait) <= 0;
}

/** Milliseconds until the wait reaches its limit; 0 or less: it has. */
export function remainingMs({ elapsedMs }: Elapsed, { key, limitMs }: Wait): number {
  return limitMs - (elapsedMs.get(key) ?? 0);
}
