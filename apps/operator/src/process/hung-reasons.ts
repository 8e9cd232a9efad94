/** Above it something hangs that no time limit ended. */
const MAX_STALL_MS = 600_000;
/** The thread tells something every second, and is started again within 30 s of each death. */
const MAX_SILENCE_MS = 120_000;

/** What a process knows of itself. */
export interface SignsOfLife {
  /** For how long no look at a job has ended although one is under way. */
  readonly stalledMs: number;
  /** For how long the thread that takes reports has told nothing, dead or alive. */
  readonly silentMs: number;
}

/**
 * Sentences about what only a new process mends. Without its launchers' reports a leader goes on leading, and takes every one of them for silent: the
 * replicas that wait could hear them.
 */
export function hungReasons({ stalledMs, silentMs }: SignsOfLife): readonly string[] {
  return [
    ...(stalledMs <= MAX_STALL_MS ? [] : [`no look at a job has ended for ${Math.round(stalledMs / 1000)} s`]),
    ...(silentMs <= MAX_SILENCE_MS
      ? []
      : [`the thread that takes reports has told nothing for ${Math.round(silentMs / 1000)} s`]),
  ];
}
