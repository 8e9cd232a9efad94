import { isUnavailable } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { outsideRequests } from '../limits/request-cpu.ts';
import type { FeedReader, FeedScope } from './feed-reader.ts';
import { JobFeed } from './job-feed.ts';
import type { LiveJobs } from './live-jobs.ts';
import { endsReading, RECHECK_MS } from './reading-right.ts';
import type { StreamPlace } from './stream-place.ts';
import type { StreamWriter } from './stream-writer.ts';

/** A change is shown at the earliest so long after the one before it: bursts are read and sent as one. */
const COALESCE_MS = 200;
const HEARTBEAT_MS = 15_000;
/** Without notifications (their connection is down) jobs are looked at anyway; and rarely with them. */
const LOOK_ANYWAY_MS = 5_000;
const POLLS_WHILE_LISTENING = 6;
/** Jobs of one scope that are read together. */
const JOBS_AT_ONCE = 50;
/** What is kept for those who join, of all jobs together. */
const KEPT_BYTES = 64 * 1_048_576;
const MOST_KEPT_BYTES = 262_144;

const PING = Buffer.from(': ping\n\n');

/** Who watches which job. */
export interface Watch {
  readonly scope: FeedScope;
  readonly jobId: string;
  readonly place: StreamPlace;
  readonly writer: StreamWriter;
  /** Of those who show the same, one is asked for all. */
  readonly credential: string;
  /** Rejects when it is not good any more; else who it is, for `mayRead`. */
  readonly check: () => Promise<(scope: FeedScope) => boolean>;
}

interface Watcher extends Watch {
  readonly feed: JobFeed;
  checkedAtMs: number;
}

/** What the fan-out needs. */
export interface FanOutParts {
  readonly reader: Pick<FeedReader, 'read' | 'eventsBetween' | 'stepsBetween'>;
  readonly live: Pick<LiveJobs, 'listen' | 'isListening'>;
  readonly logger: Logger;
}

/**
 * What happens to jobs, for everybody in this process who watches them: one listener wakes one reader, and what it reads is given to all in memory. A
 * thousand who watch a job cost the database what one costs.
 */
export class JobFanOut {
  readonly #parts: FanOutParts;
  readonly #feeds = new Map<string, JobFeed>();
  readonly #watchers = new Map<StreamWriter, Watcher>();
  /** How many watch each of them. */
  readonly #counts = new Map<JobFeed, number>();
  /** What is to be read: of some jobs only the steps. */
  readonly #stale = new Map<JobFeed, { stepsOnly: boolean }>();
  /** What could not be read, until it is tried again: what is down is not to be asked all the time. */
  readonly #later = new Map<JobFeed, { readonly stepsOnly: boolean }>();
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #stopListening: () => void;
  #isReading = false;
  #nextReading: NodeJS.Timeout | undefined;
  #readAtMs = -Infinity;
  #polls = 0;

  constructor(parts: FanOutParts) {
    this.#parts = parts;
    this.#stopListening = parts.live.listen((news) => this.#onNews(news));
    this.#timers = [
      setInterval(() => this.#beat(), HEARTBEAT_MS),
      setInterval(() => void this.recheck(), RECHECK_MS),
      setInterval(() => this.#pollJobs(), LOOK_ANYWAY_MS),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  /** Jobs that are watched, by scope. */
  get feeds(): number {
    return this.#feeds.size;
  }

  /** Shows the job to a reader until `leave`. */
  async watch(watch: Watch): Promise<void> {
    const key = `${watch.scope.kind === 'project' ? watch.scope.id : '-'}/${watch.jobId}`;
    let feed = this.#feeds.get(key);
    if (feed === undefined) {
      feed = new JobFeed(watch, { reader: this.#parts.reader, mostBytes: () => this.#mostBytes() });
      this.#feeds.set(key, feed);
      this.#markStale(feed, { stepsOnly: false });
    }
    this.#counts.set(feed, (this.#counts.get(feed) ?? 0) + 1);
    this.#watchers.set(watch.writer, { ...watch, feed, checkedAtMs: performance.now() });
    await feed.join(watch.writer, watch.place);
  }

  leave(writer: StreamWriter): void {
    const feed = this.#watchers.get(writer)?.feed;
    if (feed === undefined) return;
    this.#watchers.delete(writer);
    feed.leave(writer);
    const left = (this.#counts.get(feed) ?? 1) - 1;
    this.#counts.set(feed, left);
    if (left === 0) this.#forget(feed);
  }

  /** Closes streams whose reader has lost the right. Readers with the same credential are checked once. */
  async recheck(): Promise<void> {
    const byCredential = Map.groupBy(this.#watchers.values(), ({ credential }) => credential);
    await Promise.all(
      [...byCredential.values()].map(async (watchers) => {
        const nowMs = performance.now();
        try {
          const mayRead = await watchers[0]?.check();
          for (const watcher of watchers) {
            watcher.checkedAtMs = nowMs;
            if (mayRead?.(watcher.scope) !== true) watcher.writer.end({ isComplete: true });
          }
        } catch (error) {
          for (const { writer, checkedAtMs } of watchers)
            if (endsReading(error, nowMs - checkedAtMs)) writer.end({ isComplete: true });
        }
      }),
    );
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    clearTimeout(this.#nextReading);
    this.#stopListening();
    for (const feed of this.#feeds.values()) feed.end();
    for (const writer of this.#watchers.keys()) writer.end({ isComplete: true });
  }

  #onNews(news: { readonly jobId: string; readonly stepsOnly: boolean } | 'anything'): void {
    for (const feed of this.#feeds.values())
      if (news === 'anything' || feed.jobId === news.jobId)
        this.#markStale(feed, { stepsOnly: news !== 'anything' && news.stepsOnly });
  }

  #markStale(feed: JobFeed, { stepsOnly }: { readonly stepsOnly: boolean }): void {
    const known = this.#stale.get(feed);
    if (known === undefined) this.#stale.set(feed, { stepsOnly });
    else known.stepsOnly &&= stepsOnly;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isReading || this.#nextReading !== undefined || this.#stale.size === 0) return;
    const waitMs = Math.max(0, this.#readAtMs + COALESCE_MS - performance.now());
    // What all watchers share is no part of the request that came first.
    this.#nextReading = outsideRequests(() =>
      setTimeout(() => {
        this.#nextReading = undefined;
        void this.#readStale();
      }, waitMs),
    );
  }

  async #readStale(): Promise<void> {
    this.#isReading = true;
    this.#readAtMs = performance.now();
    const stale = [...this.#stale];
    this.#stale.clear();
    const byScope = Map.groupBy(stale, ([{ scope }]) => (scope.kind === 'project' ? scope.id : '-'));
    for (const feeds of byScope.values())
      for (let first = 0; first < feeds.length; first += JOBS_AT_ONCE)
        await this.#readTogether(feeds.slice(first, first + JOBS_AT_ONCE));
    this.#isReading = false;
    this.#schedule();
  }

  async #readTogether(stale: readonly (readonly [JobFeed, { readonly stepsOnly: boolean }])[]): Promise<void> {
    const scope = stale[0]?.[0].scope;
    if (scope === undefined) return;
    try {
      const wanted = stale.map(([feed, { stepsOnly }]) => feed.wanted(stepsOnly));
      const readings = await this.#parts.reader.read(scope, wanted);
      for (const [feed, { stepsOnly }] of stale) {
        const reading = readings.get(feed.jobId);
        if (reading !== undefined && feed.apply(reading) && this.#counts.has(feed))
          this.#markStale(feed, { stepsOnly });
        if (reading?.job === null) this.#forget(feed);
      }
    } catch (error) {
      // One job that cannot be shown keeps none of the others back.
      if (stale.length > 1 && !isUnavailable(error)) {
        for (const one of stale) await this.#readTogether([one]);
        return;
      }
      this.#parts.logger.warn({ reason: (error as Error).message }, 'live jobs could not be read; trying again');
      for (const [feed, what] of stale) if (this.#counts.has(feed)) this.#later.set(feed, what);
    }
  }

  #forget(feed: JobFeed): void {
    for (const [key, known] of this.#feeds) if (known === feed) this.#feeds.delete(key);
    this.#stale.delete(feed);
    this.#later.delete(feed);
    this.#counts.delete(feed);
  }

  #beat(): void {
    for (const writer of this.#watchers.keys()) writer.write(PING);
  }

  #pollJobs(): void {
    const again = [...this.#later];
    this.#later.clear();
    for (const [feed, what] of again) this.#markStale(feed, what);
    this.#polls += 1;
    if (!this.#parts.live.isListening || this.#polls % POLLS_WHILE_LISTENING === 0) this.#onNews('anything');
  }

  #mostBytes(): number {
    return Math.min(MOST_KEPT_BYTES, KEPT_BYTES / Math.max(1, 2 * this.#feeds.size));
  }
}
