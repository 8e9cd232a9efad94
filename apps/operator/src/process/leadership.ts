import { sleep, type Clock, type CurrentLeader, type LeaderLease } from '@coxswain/kube';
import type { Logger } from '@coxswain/telemetry';

/** What leadership is made of. */
export interface LeadershipParts {
  /** A lease is good for one term. */
  readonly newLease: () => LeaderLease;
  readonly clock: Clock;
  readonly log: Logger;
  /** What a leader does in the term of that number, until `signal` aborts. */
  readonly work: (term: number, signal: AbortSignal) => Promise<void>;
}

const RETRY_TERM_MS = 1_000;

/** Term after term: a lost lease ends the work, not the process, whose cache stays warm. */
export class Leadership {
  readonly #parts: LeadershipParts;
  #lease: LeaderLease;

  constructor(parts: LeadershipParts) {
    this.#parts = parts;
    this.#lease = parts.newLease();
  }

  /** Whether this process may write now. */
  isLeader(): boolean {
    return this.#lease.isLeader();
  }

  /** Number of the present term; throws NotLeadingError when there is none. */
  assertLeading(): number {
    return this.#lease.assertLeading();
  }

  /** Who leads, as far as it is known here. */
  currentLeader(): CurrentLeader | undefined {
    return this.#lease.currentLeader();
  }

  /** Is a candidate, and leads when it may, until `signal` aborts. A term that fails is followed by another. */
  async run(signal: AbortSignal): Promise<void> {
    const { log, work, newLease, clock } = this.#parts;
    while (!signal.aborted) {
      try {
        await this.#lease.run({
          signal,
          onStartedLeading: work,
          onStoppedLeading: (why) => log.info({ why }, 'leads no longer'),
        });
      } catch (error) {
        log.error({ err: error }, 'a term as leader failed');
      }
      if (signal.aborted) return;
      this.#lease = newLease();
      await sleep(clock, RETRY_TERM_MS, signal);
    }
  }
}
