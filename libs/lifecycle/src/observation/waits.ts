/**
 * Something that lasts, and after how long that has consequences. It is measured by a clock of the operator's process that never steps,
 * from the moment at which the process first saw it: times that others wrote (the API server, another replica) are never compared with
 * a clock here, since any of the two may be wrong by hours. A new leader begins to count anew, which makes a wait longer, never shorter.
 */
export interface Wait {
  /** Unique among what concerns the job, and another one for another occasion: `e3/starting`, `deleted/<UID of the pod>/60`. */
  readonly key: string;
  readonly limitMs: number;
}

/** How long each wait has lasted without a gap, in milliseconds. No entry: it was seen just now. */
export interface Elapsed {
  readonly elapsedMs: ReadonlyMap<string, number>;
}

/** Whether it has lasted long enough. */
export function isOver(elapsed: Elapsed, wait: Wait): boolean {
  return remainingMs(elapsed, wait) <= 0;
}

/** How long until it has lasted long enough; 0 or less when it has. */
export function remainingMs({ elapsedMs }: Elapsed, { key, limitMs }: Wait): number {
  return limitMs - (elapsedMs.get(key) ?? 0);
}
