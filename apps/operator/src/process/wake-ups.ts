import type { Clock, QueuePriority } from '@coxswain/kube';
import { PROGRESS_INTERVAL_MS } from '@coxswain/lifecycle';
import type { ClusterScheduler } from '@coxswain/scheduling';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { PacedWakes } from '../training-job/paced-wakes.ts';
import { Resync } from '../training-job/resync.ts';
import { Watches } from '../training-job/watches.ts';

/** Everything that makes somebody look at a job: changes in the cluster, what launchers report, and time. */
export class WakeUps {
  readonly #watches: Watches;
  readonly #progress: PacedWakes;
  readonly #resync: Resync;

  constructor(parts: {
    readonly cache: ClusterCache;
    readonly clock: Clock;
    /** However often a gang's pods change, they lead to one look in this time. */
    readonly podNewsIntervalMs: number;
    /** Every job is looked at once in this time, whatever happens. */
    readonly resyncIntervalMs: number;
    /** Who has a turn when GPUs become free. */
    readonly scheduler: ClusterScheduler;
    /** Wants a look at the job of that key (`namespace/name`). */
    readonly wake: (key: string, priority: QueuePriority) => void;
    /** The job is gone: whoever keeps something for it may forget it. */
    readonly onJobDeleted: (jobUid: string) => void;
  }) {
    const { cache, clock, podNewsIntervalMs, resyncIntervalMs, scheduler, wake, onJobDeleted } = parts;
    this.#progress = new PacedWakes({
      clock,
      intervalMs: PROGRESS_INTERVAL_MS,
      onDue: (jobUid) => this.#watches.wake(jobUid),
    });
    this.#watches = new Watches({
      cache,
      clock,
      podNewsIntervalMs,
      scheduler,
      wake,
      onJobDeleted: (jobUid) => {
        this.#progress.forget(jobUid);
        onJobDeleted(jobUid);
      },
    });
    this.#resync = new Resync({ cache, clock, intervalMs: resyncIntervalMs, wake: (key) => wake(key, 'resync') });
    this.#resync.start();
  }

  /** A launcher of the job has something to say: at once when ranks have ended, now and then when steps are made. */
  reported(jobUid: string, news: 'progress' | 'ended'): void {
    if (news === 'progress') this.#progress.news(jobUid);
    else this.#watches.wake(jobUid);
  }

  /** Wakes nobody any more by a timer. */
  stop(): void {
    this.#watches.stop();
    this.#progress.stop();
    this.#resync.stop();
  }
}
