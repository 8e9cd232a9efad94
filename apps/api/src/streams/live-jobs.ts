import { Listener } from '@coxswain/persistence';
import { JOB_CHANNEL } from '../jobs/job-changes.ts';

/** Tells streams which jobs have changed. One connection listens for the whole process; only ids travel. */
export class LiveJobs {
  readonly #subscribers = new Map<string, Set<() => void>>();
  readonly #listener: Listener;

  constructor(databaseUrl: string) {
    this.#listener = new Listener({
      url: databaseUrl,
      channels: [JOB_CHANNEL],
      onNotification: ({ payload }) => {
        for (const wake of this.#subscribers.get(payload) ?? []) wake();
      },
      // What was missed while the connection was down is found by looking.
      onConnected: () => {
        for (const wakes of this.#subscribers.values()) for (const wake of wakes) wake();
      },
    });
  }

  start(): void {
    this.#listener.start();
  }

  /** Calls `wake` whenever the job may have changed; returns how to stop. */
  subscribe(jobId: string, wake: () => void): () => void {
    const wakes = this.#subscribers.get(jobId) ?? new Set();
    wakes.add(wake);
    this.#subscribers.set(jobId, wakes);
    return () => {
      wakes.delete(wake);
      if (wakes.size === 0 && this.#subscribers.get(jobId) === wakes) this.#subscribers.delete(jobId);
    };
  }

  close(): Promise<void> {
    return this.#listener.close();
  }
}
