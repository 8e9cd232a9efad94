import { keyOf, type Clock } from '@coxswain/kube';
import type { ClusterCache } from '../cluster/cluster-cache.ts';

const TICK_MS = 1_000;

/** Reconciles every job once per interval, a few per second, so that a lost event delays a job by one interval at most. */
export class Resync {
  readonly #parts: {
    readonly cache: Pick<ClusterCache, 'jobs'>;
    readonly clock: Clock;
    readonly intervalMs: number;
    readonly wake: (key: string) => void;
  };
  #cancelTick: (() => void) | undefined;
  /** Keys of this round that have not had their turn, and how many of them each tick owes. */
  #round: string[] = [];
  #perTick = 0;
  #owed = 0;

  constructor(parts: {
    readonly cache: Pick<ClusterCache, 'jobs'>;
    readonly clock: Clock;
    readonly intervalMs: number;
    /** Queues the job of that key for a reconcile. */
    readonly wake: (key: string) => void;
  }) {
    this.#parts = parts;
  }

  /** Begins the first round. */
  start(): void {
    this.#cancelTick ??= this.#parts.clock.setTimer(TICK_MS, () => {
      this.#cancelTick = undefined;
      this.#tick();
      this.start();
    });
  }

  /** Stops the timer. */
  stop(): void {
    this.#cancelTick?.();
    this.#cancelTick = undefined;
  }

  #tick(): void {
    const { cache, intervalMs, wake } = this.#parts;
    if (this.#round.length === 0) {
      this.#round = cache.jobs.cached.list().map(keyOf).toReversed();
      this.#perTick = (this.#round.length * TICK_MS) / intervalMs;
      this.#owed = 0;
    }
    for (this.#owed += this.#perTick; this.#owed >= 1; this.#owed -= 1) {
      const key = this.#round.pop();
      if (key === undefined) return;
      wake(key);
    }
  }
}
