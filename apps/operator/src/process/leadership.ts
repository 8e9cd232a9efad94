import { NotLeadingError, type Clock, type CurrentLeader, type LeaderLease } from '@coxswain/kube';
import type { TermOfCalls } from '../cluster/leading-client.ts';

/** Parts of leadership. */
export interface LeadershipParts {
  readonly lease: LeaderLease;
  readonly clock: Clock;
  /** Makes the cache current: true when each kind was listed since the call began, false when `signal` aborts first. Never rejects. */
  readonly syncCache: (signal: AbortSignal) => Promise<boolean>;
  /** The work of a leader until `signal` aborts; starts when the cache is synced. */
  readonly work: (term: number, signal: AbortSignal) => Promise<void>;
}

/** A leader that cannot sync its cache within this time gives up its term. */
const SYNC_DEADLINE_MS = 60_000;

/**
 * At most one term as leader per process, so that leftovers of a term (hanging calls, late clean-up, old state) cannot affect the next one.
 */
export class Leadership implements TermOfCalls {
  readonly #parts: LeadershipParts;
  #works = false;

  constructor(parts: LeadershipParts) {
    this.#parts = parts;
  }

  /** Whether this process may write now. */
  isLeader(): boolean {
    return this.#parts.lease.isLeader();
  }

  /** Number of the term; throws NotLeadingError when there is none. */
  assertLeading(): number {
    return this.#parts.lease.assertLeading();
  }

  leftMs(): number {
    return this.#parts.lease.leftMs();
  }

  get over(): AbortSignal {
    return this.#parts.lease.over;
  }

  /** Number of the current term, if this process leads and has synced its cache since the election. */
  workingTerm(): number | undefined {
    return this.#works && this.isLeader() ? this.assertLeading() : undefined;
  }

  /** The current leader, as far as this replica knows. */
  currentLeader(): CurrentLeader | undefined {
    return this.#parts.lease.currentLeader();
  }

  /**
   * Runs for leader, leads if elected, and resolves at the end: `released` after `signal`, `lost` if another replica may lead by now.
   * Rejects if the work failed. In each case the process should end. Once per object.
   */
  run(signal: AbortSignal): Promise<'released' | 'lost'> {
    return this.#parts.lease.run({ signal, onStartedLeading: (term, ended) => this.#lead(term, ended) });
  }

  async #lead(term: number, signal: AbortSignal): Promise<void> {
    if (!(await this.#syncCache(signal))) return;
    this.#works = true;
    try {
      await this.#parts.work(term, signal);
    } finally {
      this.#works = false;
    }
  }

  async #syncCache(signal: AbortSignal): Promise<boolean> {
    const { clock, syncCache } = this.#parts;
    const late = new AbortController();
    const cancel = clock.setTimer(SYNC_DEADLINE_MS, () => late.abort());
    const isSynced = await syncCache(AbortSignal.any([signal, late.signal]));
    cancel();
    if (!isSynced && !signal.aborted) {
      throw new NotLeadingError(
        `the cluster could not be listed within ${SYNC_DEADLINE_MS / 1000} s after the election; the term ends, so that another replica can lead`,
      );
    }
    return isSynced;
  }
}
