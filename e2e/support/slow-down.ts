import { setInterval } from 'node:timers/promises';

/** A process loses so much of each period, as one whose processor is throttled does. */
const PERIOD_MS = 40;

/**
 * Takes `share` of their time from processes, in turns of {@link PERIOD_MS}, until `signal` aborts; then they run freely.
 * Ends without a word where they have ended. A turn that comes late on a busy machine takes less than was asked.
 */
export async function slowDown(pids: readonly number[], share: number, signal: AbortSignal): Promise<void> {
  const stoppedMs = PERIOD_MS * share;
  try {
    for await (const _ of setInterval(PERIOD_MS, undefined, { signal })) {
      tell(pids, 'SIGSTOP');
      await new Promise((resolve) => setTimeout(resolve, stoppedMs));
      tell(pids, 'SIGCONT');
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    tell(pids, 'SIGCONT');
  }
}

function tell(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended.
    }
  }
}
