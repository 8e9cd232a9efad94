/** How is what is kept no longer removed, as long as this process lives? */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@coxswain/telemetry';

/** What is removed, how often, and what the log says if a removal fails. */
export interface RegularSweep {
  readonly everyMs: number;
  /** Removes some, in statements that hold up nobody for long; true where more is left that another sweep can remove at once. */
  readonly sweep: () => Promise<boolean>;
  readonly logger: Logger;
  /** What is logged beside the reason when a sweep failed. */
  readonly failed: string;
}

/** Sweeps until nothing is left, at the start and every `everyMs`, until `signal` aborts. Never rejects: what failed is tried at the next time. */
export async function sweepRegularly(
  { everyMs, sweep, logger, failed }: RegularSweep,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      while (await sweep()) if (signal.aborted) return;
    } catch (error) {
      logger.warn({ reason: (error as Error).message }, failed);
    }
    await delay(everyMs, undefined, { signal }).catch(() => undefined);
  }
}
