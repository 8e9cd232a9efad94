/** What the main thread sends to the liveness thread, once a second while its event loop runs. */
export interface Heartbeat {
  /** Why the process no longer works although its loop runs; empty while all is well. */
  readonly hungReasons: readonly string[];
}

/** What the liveness thread knows of the main thread. */
export interface LifeSigns {
  readonly last: Heartbeat;
  /** Time since the last heartbeat. */
  readonly silentMs: number;
  /** Longest time without a heartbeat in which the process counts as alive. */
  readonly maxStallMs: number;
}

/** Why the process must be restarted; empty while it is alive. A loop that is slow is alive: a restart would not make it faster. */
export function livenessProblems({ last, silentMs, maxStallMs }: LifeSigns): readonly string[] {
  if (silentMs <= maxStallMs) return last.hungReasons;
  const seconds = (ms: number): number => Math.round(ms / 1_000);
  return [`the event loop has not run for ${seconds(silentMs)} s; at most ${seconds(maxStallMs)} s are allowed`];
}
