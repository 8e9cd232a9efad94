import { Listener } from '@coxswain/persistence';
import { JOB_CHANNEL, jobNewsOf } from '../jobs/job-changes.ts';

/** What may have changed: of one job, or anything at all. */
export type JobNews = { readonly jobId: string; readonly stepsOnly: boolean } | 'anything';

/** Tells which jobs have changed. One connection listens for the whole process; only ids travel. */
export class LiveJobs {
  readonly #hearers = new Set<(news: JobNews) => void>();
  readonly #listener: Listener;

  constructor(databaseUrl: string) {
    this.#listener = new Listener({
      url: databaseUrl,
      channels: [JOB_CHANNEL],
      onNotification: ({ payload }) => this.#notify(jobNewsOf(payload)),
      // What was missed while the connection was down is found by looking.
      onConnected: () => this.#notify('anything'),
    });
  }

  /** Whether the connection to the database stands; without it no change arrives. */
  get isListening(): boolean {
    return this.#listener.isConnected;
  }

  start(): void {
    this.#listener.start();
  }

  /** Calls `hear` whenever something may have changed; returns how to stop. */
  listen(listener: (news: JobNews) => void): () => void {
    this.#hearers.add(listener);
    return () => this.#hearers.delete(listener);
  }

  close(): Promise<void> {
    return this.#listener.close();
  }

  #notify(news: JobNews): void {
    for (const listener of this.#hearers) listener(news);
  }
}
