import { backoffMs } from './backoff.ts';
import type { KubeClient } from './kube-client.ts';
import type { Clock } from './clock.ts';
import { sleep } from './clock.ts';
import { isForbidden, isGone, isInvalid, isRetryable, retryAfterMsOf } from './errors.ts';
import { idleCut } from './idle-cut.ts';
import type { KubeList, KubeObject } from './kube-object.ts';
import { keyOf } from './kube-object.ts';
import type { KubeMetrics } from './metrics.ts';
import { noMetrics } from './metrics.ts';
import { RefreshRequests } from './refresh-requests.ts';
import { DEFAULT_TUNING, type ReflectorTuning } from './reflector-tuning.ts';
import { compareResourceVersions, newerResourceVersion } from './resource-version.ts';
import type { ObjectCache } from './object-cache.ts';
import { WatchCheck, type WatchCheckOptions } from './watch-check.ts';
import type { WatchLine } from './watch-lines.ts';
import { errorOfEvent, headOf, OversizedLine, isIdentified, linesOf, parseWatchLine } from './watch-lines.ts';

/*
 * How a reflector keeps a cache equal to a collection.
 *
 *   list (pages, newest state) ──► cache.replace ──► watch from the list's version ──► cache.upsert / remove
 *     ▲                                                │ ends by its own timeout, is reset, falls silent, is refused:
 *     │                                                │ watch again from the last version seen
 *     └──── 410, or a line that cannot be trusted ◄────┘
 *
 * A list that is streamed is the head of the watch that follows it: added, added, ..., a bookmark that says that this was all.
 *
 * Two versions matter. The *position* is where the next watch starts: it moves only with events in order and with bookmarks, so
 * nothing between two watches is skipped. The *floor* is the newest version ever seen, here or by a predecessor
 * (`notOlderThan`): a list below it comes from a server that has fallen behind and is refused, however well formed.
 *
 * A watch delivers in order. So an event at or below the position is a repetition if the cache has that UID at least as new; it is ignored. Otherwise
 * (a deleted object comes back, or an unknown one) the order is broken, and only a new list is reliable.
 *
 * A watch may also leave out changes without breaking any of this; `watch-check.ts` finds it by reading the collection beside the watch.
 *
 * More than 400 lines: list, watch and what ends them change the same two versions.
 */

/** Why a round of list-and-watch ended early; also the `cause` label of `reflector_failures_total`. */
export type ReflectorFailure =
  | 'request'
  | 'gone'
  | 'error-event'
  | 'malformed-line'
  | 'truncated-line'
  | 'silence'
  | 'out-of-order'
  | 'stale-list'
  | 'incomplete-list'
  | 'invalid-object'
  | 'trim'
  | 'short-watch'
  | 'missed-events';

/** A failure that the reflector has handled. */
export interface ReflectorProblem {
  readonly collectionPath: string;
  readonly failure: ReflectorFailure;
  readonly error: unknown;
}

/** Options of {@link Reflector}. */
export interface ReflectorOptions<T extends KubeObject> {
  readonly client: Pick<KubeClient, 'list' | 'requestStream'>;
  readonly collectionPath: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly cache: ObjectCache<T>;
  /** Makes an object smaller before it is kept; managedFields are gone already. Must keep metadata. May change its argument. */
  readonly trim?: (object: T) => T;
  /** Returns the kept form of an object in that version if the response to one of our writes contained it; its watch event is then not parsed. */
  readonly known?: (uid: string, resourceVersion: string) => T | undefined;
  /**
   * How the collection is listed. `pages` (default): answers of `pageSize` objects. `stream`: object by object at the head of the watch
   * (`sendInitialEvents`), in less memory and with shorter pauses; by pages where the server cannot.
   */
  readonly listing?: 'pages' | 'stream';
  /** Objects per page of a list. Default 64: a page is parsed as a whole, and 10,240 pods of 20 kB take 345 MiB so, by pages of 500 as much as 535. */
  readonly pageSize?: number;
  readonly clock: Clock;
  /** [0, 1). */
  readonly random: () => number;
  readonly onError?: (problem: ReflectorProblem) => void;
  readonly metrics?: KubeMetrics;
  /** Lists older than this resourceVersion are rejected. It is the newest version that an earlier process is known to have seen. */
  readonly notOlderThan?: () => string | undefined;
  /** Lists again when a watch ends and the last list is older than this, in case a server loses events. Off by default. */
  readonly relistAfterMs?: number;
  /** Compares the cache with pages of the collection while a watch is up, and lists again if the watch leaves out changes. Off by default. */
  readonly check?: WatchCheckOptions;
  readonly tuning?: Partial<ReflectorTuning>;
}

/** Figures for a health check. */
export interface ReflectorHealth {
  readonly synced: boolean;
  /** Milliseconds since the last byte of a list or watch; Infinity before the first. */
  readonly lastEventAgeMs: number;
  /** For how long no list or watch has been up; 0 while one is. */
  readonly outageMs: number;
}

/** Keeps an ObjectCache equal to a collection of the API while `run` is active. No failure ends it. */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #tuning: ReflectorTuning;
  readonly #metrics: KubeMetrics;
  #synced = false;
  #position: string | undefined;
  #floor: string | undefined;
  #lastEventAtMs: number | undefined;
  #outageSinceMs: number | undefined;
  #listedAtMs = 0;
  /** Events and lists that were taken over. */
  #changes = 0;
  /** Objects since the last list that could not be identified. */
  #dropped = 0;
  #failures = 0;
  /** The newest list or watch was forbidden. */
  #denied = false;
  #running = false;
  readonly #refreshes = new RefreshRequests();
  /** Ends what is under way, for a refresh. */
  #turn = new AbortController();
  #canStream = true;
  /** A streamed list broke off, so the next list uses pages. */
  #pagesNext = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#tuning = { ...DEFAULT_TUNING, ...options.tuning };
    this.#metrics = options.metrics ?? noMetrics;
  }

  /** Whether the cache has held a complete list. Stays true afterwards; `health` reports the age of the data. */
  hasSynced(): boolean {
    return this.#synced;
  }

  /** Whether this account may not read the collection: the newest list or watch was forbidden. */
  isDenied(): boolean {
    return this.#denied;
  }

  /** Milliseconds since the last sign of life (list page, event or bookmark); Infinity before the first. */
  lastEventAgeMs(): number {
    return this.#lastEventAtMs === undefined ? Infinity : this.#options.clock.monotonicMs() - this.#lastEventAtMs;
  }

  /** The three figures of a readiness check. */
  health(): ReflectorHealth {
    const outageMs = this.#outageSinceMs === undefined ? 0 : this.#options.clock.monotonicMs() - this.#outageSinceMs;
    return { synced: this.#synced, lastEventAgeMs: this.lastEventAgeMs(), outageMs };
  }

  /** The collection that is reflected. */
  get collectionPath(): string {
    return this.#options.collectionPath;
  }

  /**
   * Lists again, whatever the state of the watch. Resolves with true once the cache holds a list that began after this call, with false if `signal`
   * aborts first. For callers that act on the cache and do not know how far behind it is.
   */
  refresh(signal: AbortSignal): Promise<boolean> {
    const refreshed = this.#refreshes.ask(signal);
    this.#turn.abort();
    return refreshed;
  }

  /** Lists and watches until `signal` aborts; resolves then, and never rejects. Once per reflector. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) throw new Error(`the reflector of ${this.collectionPath} runs already`);
    this.#running = true;
    this.#outageSinceMs = this.#options.clock.monotonicMs();
    const checking = this.#newCheck(signal)?.run(signal);
    while (!signal.aborted) {
      const turn = new AbortController();
      this.#turn = turn;
      if (this.#refreshes.isOpen) this.#position = undefined;
      const next = await this.#step(AbortSignal.any([signal, turn.signal]));
      if (signal.aborted) break;
      if (next.relist) this.#position = undefined;
      if (turn.signal.aborted || next.failure === undefined) continue;
      await this.#failed(next, AbortSignal.any([signal, turn.signal]));
    }
    await checking;
  }

  #newCheck(signal: AbortSignal): WatchCheck<T> | undefined {
    const { check, clock, cache } = this.#options;
    if (check === undefined) return undefined;
    return new WatchCheck<T>({
      ...check,
      clock,
      cache,
      state: () => ({
        isWatching: this.#position !== undefined && this.#outageSinceMs === undefined,
        position: this.#position,
        changes: this.#changes,
        dropped: this.#dropped,
      }),
      readPage: (page) => this.#readPage(page, signal),
      onMissed: (why) => {
        this.#report('missed-events', new Error(`a watch of ${this.collectionPath} leaves out changes: ${why}`));
        void this.refresh(signal);
      },
    });
  }

  async #step(signal: AbortSignal): Promise<Next> {
    try {
      if (this.#position !== undefined) return await this.#watch(this.#position, signal);
      const isStreamed = this.#options.listing === 'stream' && this.#canStream && !this.#pagesNext;
      return await (isStreamed ? this.#streamList(signal) : this.#list(signal));
    } catch (error) {
      return this.#afterError(error);
    }
  }

  /** Watches from the beginning. If it fails before the list is complete, and not by an outage, the next list uses pages. */
  async #streamList(signal: AbortSignal): Promise<Next> {
    const next = await this.#watch(undefined, signal).catch((error: unknown) => this.#afterError(error));
    if (this.#position !== undefined || next.failure === undefined || signal.aborted) return next;
    // A server without support rejects the request.
    this.#canStream = !isInvalid(next.error);
    this.#pagesNext = next.failure === 'silence' || !isRetryable(next.error);
    return this.#canStream ? next : { relist: true };
  }

  async #list(signal: AbortSignal): Promise<Next> {
    const begun = this.#beginList();
    const { objects, resourceVersion } = await this.#listPages(signal);
    this.#pagesNext = false;
    return this.#takeOver(objects, resourceVersion, begun);
  }

  #beginList(): BegunList {
    this.#dropped = 0;
    return { atMs: this.#options.clock.monotonicMs(), answers: this.#refreshes.newest };
  }

  #takeOver(objects: readonly T[], resourceVersion: string, begun: BegunList): Next {
    const floor = newerResourceVersion(this.#floor, this.#options.notOlderThan?.());
    if (isOlder(resourceVersion, floor)) {
      const message = `a list of ${this.collectionPath} as of ${resourceVersion} is older than ${floor}, which was seen before`;
      return { relist: true, failure: 'stale-list', error: new Error(message) };
    }
    this.#options.cache.replace(objects, resourceVersion);
    this.#changes += 1;
    this.#position = resourceVersion;
    this.#floor = newerResourceVersion(floor, resourceVersion);
    this.#synced = true;
    this.#listedAtMs = begun.atMs;
    this.#metrics.count('reflector_lists_total', this.#labels());
    this.#metrics.observe(
      'reflector_list_seconds',
      (this.#options.clock.monotonicMs() - begun.atMs) / 1_000,
      this.#labels(),
    );
    this.#refreshes.answer(begun.answers);
    return { relist: false };
  }

  /** All pages. When the continue token expires between pages the list starts over; after the second time in one piece. */
  async #listPages(signal: AbortSignal): Promise<{ objects: readonly T[]; resourceVersion: string }> {
    const { collectionPath, pageSize = DEFAULT_PAGE_SIZE } = this.#options;
    let objects: T[] = [];
    let token: string | undefined;
    let expired = 0;
    for (;;) {
      const part = { ...(expired < 2 ? { limit: pageSize } : {}), ...(token === undefined ? {} : { continue: token }) };
      const page = await this.#readPage(part, signal).catch((error: unknown) => {
        if (token === undefined || !isGone(error)) throw error;
        return undefined;
      });
      if (page === undefined) {
        expired += 1;
        token = undefined;
        objects = [];
        this.#report('gone', new Error(`the list of ${collectionPath} was compacted away between two pages`));
        continue;
      }
      this.#alive();
      for (const item of page.items) {
        const kept = this.#ingest(item);
        if (kept !== undefined) objects.push(kept);
      }
      token = page.metadata.continue;
      if (token === undefined || token === '') return { objects, resourceVersion: page.metadata.resourceVersion };
    }
  }

  #readPage(page: { readonly limit?: number; readonly continue?: string }, signal: AbortSignal): Promise<KubeList<T>> {
    const { client, collectionPath, labelSelector, fieldSelector } = this.#options;
    return client.list<T>(collectionPath, {
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...page,
      signal,
      timeoutMs: this.#tuning.requestTimeoutMs,
    });
  }

  /** Watches from a position; without one, the whole collection is streamed first. */
  async #watch(position: string | undefined, signal: AbortSignal): Promise<Next> {
    const { client, collectionPath, labelSelector, fieldSelector, clock, random } = this.#options;
    const { minMs, maxMs } = this.#tuning.watchTimeoutMs;
    const cut = new AbortController();
    const listing: StreamedList<T> | undefined =
      position === undefined ? { begun: this.#beginList(), objects: new Map() } : undefined;
    const isListing = (): boolean => listing !== undefined && this.#position === undefined;
    const { requestTimeoutMs, idleTimeoutMs } = this.#tuning;
    const idle = idleCut(cut, { clock, limitMs: () => (isListing() ? requestTimeoutMs : idleTimeoutMs) });
    const onStop = (): void => cut.abort(signal.reason);
    signal.addEventListener('abort', onStop, { once: true });
    const startedAtMs = clock.monotonicMs();
    let events = 0;
    let truncatedBytes = 0;
    try {
      const stream = await client.requestStream(collectionPath, {
        query: {
          watch: true,
          allowWatchBookmarks: true,
          ...(position === undefined ? STREAMED_LIST : { resourceVersion: position }),
          timeoutSeconds: Math.max(1, Math.round((minMs + random() * (maxMs - minMs)) / 1000)),
          labelSelector,
          fieldSelector,
        },
        signal: cut.signal,
        timeoutMs: requestTimeoutMs,
      });
      this.#metrics.count('reflector_watches_total', this.#labels());
      if (!isListing()) this.#outageSinceMs = undefined;
      this.#alive();
      idle.restart();
      const lines = linesOf(idle.through(stream.body), {
        maxLineBytes: this.#tuning.maxLineBytes,
        onTail: (bytes) => (truncatedBytes = bytes),
      });
      for await (const line of lines) {
        if (signal.aborted) return { relist: false };
        this.#alive();
        events += 1;
        const parsed = this.#knownEvent(line) ?? parseWatchLine<T>(line);
        const next =
          listing !== undefined && isListing() ? this.#performListing(listing, parsed) : this.#perform(parsed);
        // The limit of a list is no limit of a watch.
        if (listing !== undefined) idle.restart();
        if (next !== undefined) return next;
      }
    } catch (error) {
      if (idle.fired()) return { relist: false, failure: 'silence', error };
      if (error instanceof OversizedLine) return { relist: true, failure: 'malformed-line', error };
      throw error;
    } finally {
      idle.cancel();
      signal.removeEventListener('abort', onStop);
      cut.abort();
      // Only a watch that held for a while ends a series of failures: one that breaks at once, every time, must not make a hot loop.
      if (this.#outageSinceMs === undefined && clock.monotonicMs() - startedAtMs >= STEADY_WATCH_MS) this.#failures = 0;
    }
    if (truncatedBytes > 0) {
      // The cut-off event was not taken over, so the next watch from the same position brings it again, whole.
      const error = new Error(`a watch of ${collectionPath} ended inside a line, after ${truncatedBytes} bytes of it`);
      return { relist: false, failure: 'truncated-line', error };
    }
    if (isListing()) {
      const error = new Error(`a list of ${collectionPath} that was streamed ended after ${events} events`);
      return { relist: true, failure: 'incomplete-list', error };
    }
    const livedMs = clock.monotonicMs() - startedAtMs;
    if (events === 0 && livedMs < SHORT_WATCH_MS) {
      const error = new Error(
        `a watch of ${collectionPath} was closed after ${Math.round(livedMs)} ms without an event`,
      );
      return { relist: false, failure: 'short-watch', error };
    }
    return { relist: clock.monotonicMs() - this.#listedAtMs >= (this.#options.relistAfterMs ?? Infinity) };
  }

  /** Collects one line of a list that is streamed, changes that come in between included; the last one brings it into the cache. */
  #performListing({ objects, begun }: StreamedList<T>, line: WatchLine<T>): Next | undefined {
    if (line.kind === 'event') {
      this.#metrics.count('reflector_events_total', this.#labels({ type: line.type }));
      const object = line.isKept === true ? line.object : this.#ingest(line.object);
      if (object === undefined) return undefined;
      if (line.type === 'DELETED') objects.delete(keyOf(object));
      else objects.set(keyOf(object), object);
      return undefined;
    }
    if (line.kind !== 'bookmark') return this.#perform(line);
    if (!line.endsList) return undefined;
    const next = this.#takeOver([...objects.values()], line.resourceVersion, begun);
    objects.clear();
    if (next.failure === undefined) this.#outageSinceMs = undefined;
    return next.failure === undefined ? undefined : next;
  }

  /** Applies one line to the cache. A result other than undefined ends this watch. */
  #perform(line: WatchLine<T>): Next | undefined {
    switch (line.kind) {
      case 'bookmark':
        this.#metrics.count('reflector_events_total', this.#labels({ type: 'BOOKMARK' }));
        if (!isOlder(line.resourceVersion, this.#position)) this.#advanceTo(line.resourceVersion);
        return undefined;
      case 'event':
        this.#metrics.count('reflector_events_total', this.#labels({ type: line.type }));
        return this.#performEvent(line);
      case 'error': {
        const error = errorOfEvent(line.status);
        const relist = isGone(error);
        return { relist, failure: relist ? 'gone' : 'error-event', error };
      }
      case 'malformed':
        return { relist: true, failure: 'malformed-line', error: new Error(`a watch line is ${line.why}`) };
    }
  }

  /** The event of a line, where what it brings is kept already. */
  #knownEvent(line: string): WatchEvent<T> | undefined {
    const { known } = this.#options;
    const head = known === undefined ? undefined : headOf(line);
    const object = head === undefined ? undefined : known?.(head.uid, head.resourceVersion);
    return head === undefined || object === undefined
      ? undefined
      : { kind: 'event', type: head.type, object, isKept: true };
  }

  #performEvent({ type, object: raw, isKept }: WatchEvent<T>): Next | undefined {
    const version = raw.metadata.resourceVersion ?? '';
    const order = compareResourceVersions(version, this.#position);
    if (order !== undefined && order <= 0) return this.#repetition(type, raw);
    const object = isKept === true ? raw : this.#ingest(raw);
    if (object === undefined) return undefined;
    if (type === 'DELETED') this.#options.cache.remove(object);
    else this.#options.cache.upsert(object);
    this.#changes += 1;
    this.#advanceTo(version);
    return undefined;
  }

  /** Handles an event at or below the position: harmless if it repeats known state, otherwise the order is broken. */
  #repetition(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): Next | undefined {
    const known = this.#options.cache.get(keyOf(object));
    const order = compareResourceVersions(object.metadata.resourceVersion, known?.metadata.resourceVersion);
    const isKnown = order !== undefined && order <= 0;
    if (type === 'DELETED' ? known === undefined || isKnown : isKnown) return undefined;
    const message = `a watch of ${this.collectionPath} sent ${object.metadata.resourceVersion} after ${this.#position}`;
    return { relist: true, failure: 'out-of-order', error: new Error(message) };
  }

  #advanceTo(version: string): void {
    this.#position = version;
    this.#floor = newerResourceVersion(this.#floor, version);
    this.#options.cache.advanceTo(version);
  }

  /** What is kept of an object from the wire: nothing when it cannot be identified, the whole when it cannot be trimmed. */
  #ingest(raw: T): T | undefined {
    if (!isIdentified(raw)) {
      this.#report(
        'invalid-object',
        new Error(`${this.collectionPath} holds an object without name, uid or resourceVersion`),
      );
      this.#dropped += 1;
      return undefined;
    }
    const { managedFields: _dropped, ...metadata } = raw.metadata;
    const object: T = { ...raw, metadata };
    if (this.#options.trim === undefined) return object;
    try {
      return this.#options.trim(object);
    } catch (error) {
      this.#report('trim', error);
      return object;
    }
  }

  #afterError(error: unknown): Next {
    if (isGone(error)) return { relist: true, failure: 'gone', error };
    return { relist: false, failure: 'request', error };
  }

  async #failed(next: Next, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    this.#outageSinceMs ??= clock.monotonicMs();
    this.#failures += 1;
    this.#denied = isForbidden(next.error);
    if (next.failure !== undefined) this.#report(next.failure, next.error);
    // The first relist is at once: what was missed should not be missed for longer. Only one that keeps failing waits.
    if (next.relist && next.failure !== 'stale-list' && this.#failures === 1) return;
    const retryAfterMs = retryAfterMsOf(next.error);
    await sleep(clock, backoffMs(this.#tuning.backoff, { failures: this.#failures, retryAfterMs }, random), signal);
  }

  #report(failure: ReflectorFailure, error: unknown): void {
    this.#metrics.count('reflector_failures_total', this.#labels({ cause: failure }));
    try {
      this.#options.onError?.({ collectionPath: this.collectionPath, failure, error });
    } catch {
      // A failing listener must not stop the reflector; the counter above has the error.
    }
  }

  #alive(): void {
    this.#denied = false;
    this.#lastEventAtMs = this.#options.clock.monotonicMs();
  }

  #labels(more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
    return { collection: this.collectionPath, ...more };
  }
}

/** When a list began, and which requests for one it answers. */
interface BegunList {
  readonly atMs: number;
  readonly answers: number;
}

/** Objects received so far of a streamed list, by key. */
interface StreamedList<T extends KubeObject> {
  readonly begun: BegunList;
  readonly objects: Map<string, T>;
}

const DEFAULT_PAGE_SIZE = 64;

/** Without a resourceVersion the server sends its newest state, as for a list (a consistent read). */
const STREAMED_LIST = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } as const;

/** A watch that ends sooner, without an event, was not served: trying again at once would be a loop. */
const SHORT_WATCH_MS = 1_000;

/** A watch that held for so long was a healthy one. */
const STEADY_WATCH_MS = 2_000;

type WatchEvent<T extends KubeObject> = Extract<WatchLine<T>, { readonly kind: 'event' }>;

/** What comes after a step: a list or a watch, after a pause when something failed. */
interface Next {
  readonly relist: boolean;
  readonly failure?: ReflectorFailure;
  readonly error?: unknown;
}

function isOlder(version: string, floor: string | undefined): boolean {
  const order = compareResourceVersions(version, floor);
  return order !== undefined && order < 0;
}
