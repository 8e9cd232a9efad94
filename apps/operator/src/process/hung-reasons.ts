/** Above it something hangs that no time limit ended. */
const MAX_STALL_MS = 600_000;
/** The thread sends a digest every second, and restarts within 30 s after each death. */
const MAX_SILENCE_MS = 120_000;

/** Signs of life of this process. */
export interface SignsOfLife {
  /** Time since the last reconcile ended while one is running. */
  readonly stalledMs: number;
  /** Time since the last digest of the ingest thread, dead or alive. */
  readonly silentMs: number;
}

/**
 * Reasons to restart the process. Without reports a leader would keep leading and treat every launcher as silent, while another replica could receive them.
 */
export function hungReasons({ stalledMs, silentMs }: SignsOfLife): readonly string[] {
  return [
    ...(stalledMs <= MAX_STALL_MS ? [] : [`no look at a job has ended for ${Math.round(stalledMs / 1000)} s`]),
    ...(silentMs <= MAX_SILENCE_MS ? [] : [`no digest from the ingest thread for ${Math.round(silentMs / 1000)} s`]),
  ];
}
