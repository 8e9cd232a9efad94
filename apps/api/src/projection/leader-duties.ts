import { setTimeout as delay } from 'node:timers/promises';
import { tryAdvisoryLock } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';

const RETRY_MS = 1_000;

/** Something that one replica does at a time. It must end soon after its signal aborts. */
export type Duty = (signal: AbortSignal) => Promise<void>;

/**
 * Runs duties on the one replica that holds a lock in the database. The lock lives on a connection of its own; when that breaks, the
 * duties are stopped at once, because another replica may begin.
 */
export class LeaderDuties {
  readonly #options: { readonly url: string; readonly lockName: string; readonly logger: Logger };
  readonly #duties: () => readonly Duty[];
  readonly #stop = new AbortController();
  #isLeader = false;
  #running: Promise<void> | undefined;

  /** `duties` makes them anew for each time in office: nothing is carried over from the last. */
  constructor(
    options: { readonly url: string; readonly lockName: string; readonly logger: Logger },
    duties: () => readonly Duty[],
  ) {
    this.#options = options;
    this.#duties = duties;
  }

  get isLeader(): boolean {
    return this.#isLeader;
  }

  start(): void {
    this.#running = this.#loop();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#tryOnce(signal);
      if (!signal.aborted) await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #tryOnce(signal: AbortSignal): Promise<void> {
    const { url, lockName, logger } = this.#options;
    try {
      const lock = await tryAdvisoryLock({ url, name: lockName });
      if (lock === undefined) return;
      this.#isLeader = true;
      logger.info({ lock: lockName }, 'this replica mirrors the cluster now');
      const term = AbortSignal.any([signal, lock.lost]);
      const failed = new AbortController();
      const work = this.#duties().map((duty) =>
        duty(AbortSignal.any([term, failed.signal])).finally(() => failed.abort()),
      );
      const results = await Promise.allSettled(work);
      this.#isLeader = false;
      await lock.release();
      for (const result of results) {
        if (result.status === 'rejected')
          logger.error({ err: result.reason as unknown }, 'mirroring failed; it restarts');
      }
    } catch (error) {
      this.#isLeader = false;
      logger.warn({ reason: (error as Error).message }, 'the mirroring lock could not be asked for; trying again');
    }
  }
}
