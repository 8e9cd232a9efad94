import { setTimeout as delay } from 'node:timers/promises';
import { type Database, Listener, QUEUE_SCHEMA } from '@coxswain/persistence';
import type { Logger, Metrics } from '@coxswain/telemetry';
import { createPostgresBackend, type PostgresPoolConfig, withBackend } from 'bullmq';
import type { Cluster } from '../infrastructure/tokens.ts';
import { OUTBOX_CHANNEL, turnOf } from '../jobs/job-changes.ts';
import { ApplyEntries, type ClaimedEntry, type WaitingFigures } from './apply-entries.ts';
import { type ApplyBudgets, ApplyLanes } from './apply-lanes.ts';
import type { ClusterWriter } from './cluster-writer.ts';
import { describeApplyFailure } from './describe-apply-failure.ts';

/*
 * How changes reach the cluster, project by project.
 *
 * The outbox has one entry per job. The queue has no entries of jobs but turns of projects, at most TURNS_OF_PROJECT of each: the worker that takes a turn applies one
 * entry of that project, and the turn goes to the end of the queue. So a project with thousands of entries has as many turns as one with two, and a change
 * waits for at most TURNS_OF_PROJECT entries of each other project. A turn is found by its id, so adding one that is there already changes nothing.
 *
 * Nothing depends on the queue: a turn that was lost is added again by the next look at the outbox.
 */

/** Entries of one project that are applied at a time, by all replicas together. */
export const TURNS_OF_PROJECT = 2;
/** Entries that are applied at a time by one replica. */
const CONCURRENCY = 8;
/** Turns that a notification did not announce (a retry, a lost notification) are found after this time. */
const LOOK_MS = 1_000;
const SWEEP_MS = 10_000;
/** A turn whose worker died comes back after this time. */
const LOCK_MS = 10_000;

/** What became of a turn. `nothing`: no entry was due. `deferred`: the project is in trouble, and there was no worker for it. */
type Served = 'applied' | 'nothing' | 'deferred';

/** All that a queue entry says: whose turn it is. */
interface Turn {
  readonly turnId: string;
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
  readonly budgets?: ApplyBudgets;
}

/** Carries desired changes from the outbox to the cluster, until it is closed. */
export class ApplyQueue {
  readonly #parts: ApplyQueueParts;
  readonly #entries: ApplyEntries;
  readonly #lanes: ApplyLanes;
  readonly #stop = new AbortController();
  /** Turns that notifications announced since the last round. */
  readonly #announced = new Set<string>();
  readonly #queue: InstanceType<typeof Queue<Turn>>;
  readonly #count: (outcome: 'applied' | 'failed') => void;
  #nextLookAt = 0;
  #wake: () => void = () => undefined;
  #running: Promise<unknown> | undefined;
  #closers: (() => Promise<unknown>)[] = [];
  #figures: WaitingFigures = { entries: 0, oldestSeconds: 0, mostOfOneTurn: 0 };

  constructor(parts: ApplyQueueParts) {
    this.#parts = parts;
    this.#entries = new ApplyEntries(parts.database, parts.cluster);
    this.#lanes = new ApplyLanes({
      workers: parts.concurrency ?? CONCURRENCY,
      nowMs: () => performance.now(),
      budgets: parts.budgets,
    });
    this.#queue = new Queue<Turn>(this.#name, { connection: this.#connection });
    this.#count = this.#registerMetrics();
  }

  /** Connects and begins. The migrations have made the queue's tables, in a schema of their own. */
  start(): void {
    const { database, logger } = this.#parts;
    const worker = new Worker<Turn, Served>(this.#name, (turn) => this.#serve(turn.data.turnId), {
      connection: this.#connection,
      concurrency: this.#parts.concurrency ?? CONCURRENCY,
      lockDuration: LOCK_MS,
      stalledInterval: LOCK_MS / 2,
    });
    const trouble = (error: Error): void => logger.warn({ reason: error.message }, 'queue trouble');
    this.#queue.on('error', trouble);
    worker.on('error', trouble);
    // Now the turn is out of the queue, so that it can be added again.
    worker.on('completed', ({ data }, served) => void this.#addAgain(data.turnId, served));
    worker.on('failed', (_turn, error) => logger.warn({ reason: error.message }, 'a turn failed; it is added again'));
    const listener = new Listener({
      url: database.url,
      channels: [OUTBOX_CHANNEL],
      onNotification: ({ payload }) => this.#announce(payload),
      onConnected: () => this.#lookNow(),
    });
    listener.start();
    this.#closers = [() => listener.close(), () => worker.close(), () => this.#queue.close()];
    this.#running = Promise.all([
      this.#repeat('relay', () => this.#relay()),
      this.#repeat('sweep', () => this.#sweep()),
    ]);
  }

  /** Takes no more entries, lets those under way end, closes connections. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#running;
    for (const close of this.#closers) await close().catch(() => undefined);
  }

  get #name(): string {
    return `apply-turns-${this.#parts.cluster.id}`;
  }

  get #connection(): PostgresPoolConfig {
    return { connectionString: this.#parts.queueUrl, schema: QUEUE_SCHEMA, max: 4 };
  }

  /** Applies one entry of the turn. */
  async #serve(turnId: string): Promise<Served> {
    const lease = this.#lanes.enter(turnId);
    if (lease === undefined) return 'deferred';
    let hasApplied = false;
    try {
      const entry = await this.#entries.claim(turnId);
      if (entry === undefined) return 'nothing';
      hasApplied = true;
      // Whatever becomes of it: the entry is claimed now, and the next look adds turns too.
      if (entry.hasMore) await this.#addTurns([turnId], TURNS_OF_PROJECT).catch(() => undefined);
      await this.#apply(entry, AbortSignal.timeout(lease.budgetMs));
      return 'applied';
    } finally {
      lease.end({ hasApplied });
    }
  }

  async #apply(entry: ClaimedEntry, signal: AbortSignal): Promise<void> {
    try {
      await this.#parts.writer.apply(entry.jobId, signal);
    } catch (error) {
      this.#count('failed');
      this.#parts.logger.warn(
        { job: entry.jobId, reason: (error as Error).message },
        'a job could not be carried to the cluster; it is tried again',
      );
      return this.#entries.retryLater(entry, describeApplyFailure(error));
    }
    this.#count('applied');
    await this.#entries.settle(entry);
  }

  /** After a turn that found nothing, an entry may have come while the turn could not be added. A turn that got no worker is added by the next look. */
  async #addAgain(turnId: string, served: Served): Promise<void> {
    if (served === 'deferred') return;
    try {
      if (served === 'applied' || (await this.#entries.hasDue(turnId))) await this.#addTurns([turnId], 1);
    } catch {
      // The next look adds it.
    }
  }

  /** So many turns of each; those that are there already stay where they are. One by one: `addBulk` makes temporary tables, which the role of the queue may not. */
  async #addTurns(turnIds: readonly string[], each: number): Promise<void> {
    for (let number = 1; number <= each; number++) {
      for (const turnId of turnIds) {
        const options = { jobId: `${turnId}-${number}`, removeOnComplete: true, removeOnFail: true };
        await this.#queue.add('apply', { turnId }, options);
      }
    }
  }

  #announce(payload: string): void {
    const announced = turnOf(payload);
    if (announced === undefined) return this.#lookNow();
    if (announced.clusterId !== this.#parts.cluster.id) return;
    this.#announced.add(announced.turnId);
    this.#wake();
  }

  #lookNow(): void {
    this.#nextLookAt = 0;
    this.#wake();
  }

  async #relay(): Promise<number> {
    const announced = [...this.#announced];
    this.#announced.clear();
    await this.#addTurns(announced, 1);
    if (Date.now() >= this.#nextLookAt) {
      this.#nextLookAt = Date.now() + LOOK_MS;
      await this.#entries.adoptEarlierRows();
      await this.#addTurns(await this.#entries.dueTurns(), TURNS_OF_PROJECT);
    }
    return this.#announced.size > 0 ? 0 : Math.max(0, this.#nextLookAt - Date.now());
  }

  async #sweep(): Promise<number> {
    await this.#entries.restoreLost();
    this.#figures = await this.#entries.figures();
    return SWEEP_MS;
  }

  /** Runs `round` until closed, again after as many milliseconds as it answers; the relay is woken earlier by a notification. */
  async #repeat(name: 'relay' | 'sweep', round: () => Promise<number>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const woken = new AbortController();
      if (name === 'relay') this.#wake = () => woken.abort();
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
      await delay(pauseMs, undefined, { signal: AbortSignal.any([signal, woken.signal]) }).catch(() => undefined);
    }
  }

  #registerMetrics(): (outcome: 'applied' | 'failed') => void {
    const { metrics } = this.#parts;
    const outcomes = metrics.counter({
      name: 'coxswain_api_apply_total',
      help: 'Queue entries that were carried to the cluster, by outcome.',
      labelNames: ['outcome'],
    });
    metrics.gauge({
      name: 'coxswain_api_apply_waiting',
      help: 'Jobs with a change that has not reached the cluster, as of the last 10 s.',
      collect: () => this.#figures.entries,
    });
    metrics.gauge({
      name: 'coxswain_api_apply_waiting_most',
      help: 'Jobs with a change that has not reached the cluster, of the project that has the most.',
      collect: () => this.#figures.mostOfOneTurn,
    });
    metrics.gauge({
      name: 'coxswain_api_apply_oldest_seconds',
      help: 'For how long the oldest change of a job has waited for the cluster.',
      collect: () => this.#figures.oldestSeconds,
    });
    metrics.gauge({
      name: 'coxswain_api_apply_projects_in_trouble',
      help: 'Projects whose last change did not reach the cluster in time; they share half of the workers of this replica.',
      collect: () => this.#lanes.inTrouble,
    });
    return (outcome) => outcomes.inc({ outcome });
  }
}
