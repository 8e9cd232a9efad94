import { NotLeadingError, type Clock, type CurrentLeader, type LeaderLease } from '@coxswain/kube';
import type { TermOfCalls } from '../cluster/leading-client.ts';

/** What leadership is made of. */
export interface LeadershipParts {
  readonly lease: LeaderLease;
  readonly clock: Clock;
  /** Makes the cache current: true when each kind was listed since the call began, false when `signal` aborts first. Never rejects. */
  readonly syncCache: (signal: AbortSignal) => Promise<boolean>;
  /** What a leader does until `signal` aborts, once it has looked. */
  readonly work: (term: number, signal: AbortSignal) => Promise<void>;
}

/** A leader that cannot look for so long makes room for another. */
const SYNC_DEADLINE_MS = 60_000;

/**
 * At most one term as leader, then never again in this process: nothing that a term left behind (calls that hang, clean-up that comes late, what
 * it believed) can meet the next one.
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

  /** Number of the term in which this process works: it leads and has looked at the cluster since it does. */
  workingTerm(): number | undefined {
    return this.#works && this.isLeader() ? this.assertLeading() : undefined;
  }

  /** Who leads, as far as it is known here. */
  currentLeader(): CurrentLeader | undefined {
    return this.#parts.lease.currentLeader();
  }

  /**
   * Is a candidate, leads when it may, and resolves when that is over: `released` after `signal`, `lost` when another replica may lead by now.
   * Rejects when the work failed. Either way the process should end. Once per object.
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
        `the cluster could not be listed within ${SYNC_DEADLINE_MS / 1000} s of the election: another replica may do better`,
      );
    }
    return isSynced;
  }
}
