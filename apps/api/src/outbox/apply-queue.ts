import { setTimeout as delay } from 'node:timers/promises';
import type { Logger, Metrics } from '@coxswain/telemetry';
import { type Database, Listener, QUEUE_SCHEMA } from '@coxswain/persistence';
import { createPostgresBackend, type PostgresPoolConfig, withBackend } from 'bullmq';
import type { ClusterWriter } from './cluster-writer.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { OUTBOX_CHANNEL } from '../jobs/job-changes.ts';

/** A pending row that has no queue entry any more (or never had one) is found after this time. */
const SWEEP_MS = 10_000;
const RELAY_POLL_MS = 1_000;
const RELAY_BATCH = 100;

/** All that a queue entry says; everything else is read from the row when its turn comes. */
interface ApplyEntry {
  readonly jobId: string;
}

const { Queue, Worker } = withBackend(createPostgresBackend);

/** What the worker process needs. */
export interface ApplyQueueParts {
  readonly database: Database;
  /** Of the role that uses the queue's tables. */
  readonly queueUrl: string;
  /** Whose jobs are carried: other clusters of the same database have queues and workers of their own. */
  readonly cluster: Cluster;
  readonly writer: Pick<ClusterWriter, 'apply'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly concurrency?: number;
}

/**
 * Carries desired changes from the outbox to the cluster: a relay moves outbox rows into the queue, workers take entries from it, and a sweep puts
 * back what the queue has lost. The queue is a hint; the truth is `generation > applied_generation` in the row.
 */
export class ApplyQueue {
  readonly #parts: ApplyQueueParts;
  readonly #stop = new AbortController();
  #wake: () => void = () => undefined;
  #running: Promise<unknown> | undefined;
  #closers: (() => Promise<unknown>)[] = [];

  constructor(parts: ApplyQueueParts) {
    this.#parts = parts;
  }

  /** Connects and begins. The migrations have made the queue's tables, in a schema of their own. */
  start(): void {
    const { database, queueUrl, cluster, writer, logger, metrics } = this.#parts;
    const name = `apply-job-${cluster.id}`;
    const connection: PostgresPoolConfig = { connectionString: queueUrl, schema: QUEUE_SCHEMA, max: 4 };
    const queue = new Queue<ApplyEntry>(name, { connection });
    const outcomes = metrics.counter({
      name: 'coxswain_api_apply_total',
      help: 'Queue entries that were carried to the cluster, by outcome.',
      labelNames: ['outcome'],
    });
    const worker = new Worker<ApplyEntry>(name, (entry) => writer.apply(entry.data.jobId), {
      connection,
      concurrency: this.#parts.concurrency ?? 4,
    });
    const trouble = (error: Error): void => logger.warn({ reason: error.message }, 'queue trouble');
    queue.on('error', trouble);
    worker.on('error', trouble);
    worker.on('completed', () => outcomes.inc({ outcome: 'applied' }));
    worker.on('failed', (entry, error) => {
      outcomes.inc({ outcome: 'failed' });
      logger.warn(
        { job: entry?.data.jobId, reason: error.message },
        'a job could not be carried to the cluster; it is tried again',
      );
    });
    const listener = new Listener({
      url: database.url,
      channels: [OUTBOX_CHANNEL],
      onNotification: () => this.#wake(),
      onConnected: () => this.#wake(),
    });
    listener.start();
    this.#closers = [() => listener.close(), () => worker.close(), () => queue.close()];
    const add = async (jobId: string, entryId: string): Promise<void> => {
      await queue.add(
        'apply',
        { jobId },
        {
          jobId: entryId,
          attempts: 8,
          backoff: { type: 'exponential', delay: 250, jitter: 0.5 },
          removeOnComplete: true,
          removeOnFail: true,
        },
      );
    };
    this.#running = Promise.all([this.#relay(add), this.#sweep(add)]);
  }

  /** Takes no more entries, lets those under way end, closes connections. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#running;
    for (const close of this.#closers) await close().catch(() => undefined);
  }

  /** Adding before deleting: a crash in between adds twice, which changes nothing. */
  async #relay(add: (jobId: string, entryId: string) => Promise<void>): Promise<void> {
    await this.#repeat('relay', async () => {
      const { database, cluster } = this.#parts;
      for (;;) {
        const moved = await database.transaction(async (sql) => {
          const found = await sql.query<{ id: string; job_id: string }>(
            `SELECT outbox.id, job_id FROM outbox JOIN jobs ON jobs.id = job_id
              WHERE cluster_id = $1 ORDER BY outbox.id LIMIT $2 FOR UPDATE OF outbox SKIP LOCKED`,
            [cluster.id, RELAY_BATCH],
          );
          for (const row of found.rows) await add(row.job_id, `outbox-${row.id}`);
          await sql.query('DELETE FROM outbox WHERE id = ANY ($1::bigint[])', [found.rows.map((row) => row.id)]);
          return found.rows.length;
        });
        if (moved < RELAY_BATCH) return RELAY_POLL_MS;
      }
    });
  }

  async #sweep(add: (jobId: string, entryId: string) => Promise<void>): Promise<void> {
    await this.#repeat('sweep', async () => {
      const { database, cluster } = this.#parts;
      const found = await database.query<{ id: string; generation: string }>(
        `SELECT id, generation FROM jobs
          WHERE cluster_id = $1 AND generation > applied_generation AND deleted_at IS NULL AND updated_at < now() - make_interval(secs => $2)
          LIMIT 500`,
        [cluster.id, SWEEP_MS / 1000],
      );
      for (const row of found.rows) await add(row.id, `sweep-${row.id}-${row.generation}`);
      return SWEEP_MS;
    });
  }

  /** Runs `round` until closed, again after as many milliseconds as it answers; the relay is woken earlier by a notification. */
  async #repeat(name: 'relay' | 'sweep', round: () => Promise<number>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let pauseMs = 1_000;
      try {
        pauseMs = await round();
      } catch (error) {
        this.#parts.logger.warn(
          { part: name, reason: (error as Error).message },
          'the outbox could not be read; trying again',
        );
      }
      if (signal.aborted) return;
      const woken = new AbortController();
      if (name === 'relay') this.#wake = () => woken.abort();
      await delay(pauseMs, undefined, { signal: AbortSignal.any([signal, woken.signal]) }).catch(() => undefined);
    }
  }
}
