import type { Clock, QueuePriority } from '@coxswain/kube';
import { PROGRESS_INTERVAL_MS } from '@coxswain/lifecycle';
import type { ClusterScheduler } from '@coxswain/scheduling';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { PacedWakes } from '../training-job/paced-wakes.ts';
import { Resync } from '../training-job/resync.ts';
import { Watches } from '../training-job/watches.ts';

/** All triggers of reconciles: changes in the cluster, reports of launchers, and time. */
export class WakeUps {
  readonly #watches: Watches;
  readonly #progress: PacedWakes;
  readonly #resync: Resync;

  constructor(parts: {
    readonly cache: ClusterCache;
    readonly clock: Clock;
    /** Changes of a gang's pods cause at most one reconcile in this time. */
    readonly podNewsIntervalMs: number;
    /** Every job is reconciled at least once in this time. */
    readonly resyncIntervalMs: number;
    /** Decides which jobs are reconciled when GPUs become free. */
    readonly scheduler: ClusterScheduler;
    /** Queues the job of that key (`namespace/name`) for a reconcile. */
    readonly wake: (key: string, priority: QueuePriority) => void;
    /** Called when a job was deleted, so that its state can be dropped. */
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

  /** Reacts to reports of launchers: at once if ranks have ended, at intervals for steps. */
  reported(jobUid: string, news: 'progress' | 'ended'): void {
    if (news === 'progress') this.#progress.news(jobUid);
    else this.#watches.wake(jobUid);
  }

  /** Reacts to nodes that are held, or no longer held, for the jobs of these UIDs. */
  promisesChanged(jobUids: readonly string[]): void {
    this.#watches.promisesChanged(jobUids);
  }

  /** Stops all timers. */
  stop(): void {
    this.#watches.stop();
    this.#progress.stop();
    this.#resync.stop();
  }
}
