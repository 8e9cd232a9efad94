import type { KubeList, KubeObject } from './kube-object.ts';
import { keyOf } from './kube-object.ts';
import type { Clock } from './clock.ts';
import { sleep } from './clock.ts';
import type { ObjectCache } from './object-cache.ts';
import { compareResourceVersions } from './resource-version.ts';
import { isIdentified } from './watch-lines.ts';

/*
 * A watch can be open, send bookmarks, and leave out changes: a watch cache that is stuck, a proxy that drops events. Nothing on the
 * connection shows it. So pages of the collection are read from the API server and compared with the cache.
 *
 *   behind, and the watch has passed that version ──► the event was lost, list again
 *   behind, and no event came until the next round ──► the watch is silent about a change, list again
 *   behind, and events come                        ──► the watch is late, and delivers
 *
 * A resourceVersion of the whole collection shows nothing: it moves with changes of other kinds, and the position of an idle watch does not.
 */

/** How a watch is compared with the API server. */
export interface WatchCheckOptions {
  /** Between two rounds. A change that the watch leaves out is found after at most two. */
  readonly intervalMs: number;
  /** Pages of 64 objects that a round reads. A larger collection is read over several rounds. */
  readonly pages: number;
  /** For how long the watch has owed the newest state of an object that a write or live read of this process returned; 0: nothing is owed. */
  readonly unseenForMs?: () => number;
}

/** What production uses: a change in a collection of up to 256 objects is found within 30 s. */
export const WATCH_CHECK: WatchCheckOptions = { intervalMs: 15_000, pages: 4 };

/** Objects per page. */
const PAGE_SIZE = 64;

/** A watch that owes the result of our own write for longer is late by more than a busy API server explains. */
const MAX_UNSEEN_MS = 30_000;

/** What is known of the watch now. */
export interface WatchState {
  readonly isWatching: boolean;
  readonly position: string | undefined;
  /** How many events and lists have been taken over. */
  readonly changes: number;
  /** Listed objects that the cache does not keep, because they cannot be identified. */
  readonly dropped: number;
}

/** Parts of {@link WatchCheck}. */
export interface WatchCheckParts<T extends KubeObject> extends WatchCheckOptions {
  readonly clock: Clock;
  readonly cache: ObjectCache<T>;
  readonly state: () => WatchState;
  /** A page of the collection from the API server, the first without a token. */
  readonly readPage: (page: { readonly limit: number; readonly continue?: string }) => Promise<KubeList<T>>;
  /** The cache misses changes that the watch should have delivered. */
  readonly onMissed: (why: string) => void;
}

/** An object or a count that differed from the cache in the last round. */
interface Suspect {
  /** Events and lists before the request that showed the difference. */
  readonly changes: number;
  readonly isStill: () => boolean;
  readonly why: string;
}

/** Compares what a reflector keeps with the API server, round after round. */
export class WatchCheck<T extends KubeObject> {
  readonly #parts: WatchCheckParts<T>;
  #suspects: Suspect[] = [];
  /** Where the next round goes on in a large collection. */
  #token: string | undefined;
  /** UIDs that the watch has reported as deleted since the pages were snapshot. */
  readonly #deleted = new Set<string>();

  constructor(parts: WatchCheckParts<T>) {
    this.#parts = parts;
    parts.cache.onChange(({ kind, object }) => {
      if (kind === 'deleted') this.#deleted.add(object.metadata.uid ?? '');
    });
  }

  /** Checks until `signal` aborts. Never rejects: an API server that cannot be read is noticed by the watch itself. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs, onMissed } = this.#parts;
    let pauseMs = intervalMs;
    while (!signal.aborted) {
      await sleep(clock, pauseMs, signal);
      if (signal.aborted) return;
      const why = await this.#round().catch(() => this.#restart());
      if (signal.aborted) return;
      // A server that stays deaf is listed at intervals, which costs no more than two rounds.
      pauseMs = why === undefined ? intervalMs : 2 * intervalMs;
      if (why === undefined) continue;
      this.#restart();
      onMissed(why);
    }
  }

  #restart(): undefined {
    this.#suspects = [];
    this.#token = undefined;
  }

  async #round(): Promise<string | undefined> {
    const { state, unseenForMs } = this.#parts;
    const { isWatching, changes } = state();
    if (!isWatching) return this.#restart();
    const unseenMs = unseenForMs?.() ?? 0;
    if (unseenMs > MAX_UNSEEN_MS) return `the result of a write is missing for ${Math.round(unseenMs / 1000)} s`;
    const silent = this.#suspects.find((suspect) => suspect.changes === changes && suspect.isStill());
    if (silent !== undefined) return silent.why;
    this.#suspects = [];
    return this.#readPages();
  }

  /** The first page has the number of objects. The others follow where the last round ended. */
  async #readPages(): Promise<string | undefined> {
    const { pages, readPage } = this.#parts;
    if (this.#token === undefined) this.#deleted.clear();
    const { changes } = this.#parts.state();
    const first = await readPage({ limit: PAGE_SIZE });
    this.#compareCount(first, changes);
    const lost = this.#compare(first, changes);
    if (lost !== undefined) return lost;
    this.#token ??= tokenOf(first);
    for (let page = 1; page < pages && this.#token !== undefined; page += 1) {
      const next: KubeList<T> = await readPage({ limit: PAGE_SIZE, continue: this.#token });
      this.#token = tokenOf(next);
      const missing = this.#compare(next, changes);
      if (missing !== undefined) return missing;
    }
    return undefined;
  }

  #compareCount({ items, metadata }: KubeList<T>, changes: number): void {
    const { cache, state } = this.#parts;
    const rest = tokenOf({ metadata }) === undefined ? 0 : metadata.remainingItemCount;
    // With a selector the server does not count.
    if (rest === undefined) return;
    const total = items.length + rest;
    const isStill = (): boolean => cache.size + state().dropped !== total;
    if (!isStill()) return;
    const why = `the cache has ${cache.size} objects, the API server ${total}`;
    this.#suspects.push({ changes, isStill, why });
  }

  /** Returns why an event was lost for sure; otherwise notes what is behind. */
  #compare({ items }: KubeList<T>, changes: number): string | undefined {
    const { position } = this.#parts.state();
    for (const { metadata } of items.filter(isIdentified)) {
      const isStill = (): boolean => this.#isBehind(metadata);
      if (!isStill()) continue;
      const why = `the cache lacks version ${metadata.resourceVersion} of ${keyOf({ metadata })}`;
      const order = compareResourceVersions(position, metadata.resourceVersion);
      if (order !== undefined && order >= 0) return `${why}, and the watch has reached ${position}`;
      this.#suspects.push({ changes, isStill, why });
    }
    return undefined;
  }

  #isBehind(metadata: KubeObject['metadata']): boolean {
    const known = this.#parts.cache.get(keyOf({ metadata }));
    if (this.#deleted.has(metadata.uid ?? '')) return false;
    if (known === undefined) return true;
    const order = compareResourceVersions(metadata.resourceVersion, known.metadata.resourceVersion);
    return order !== undefined && order > 0;
  }
}

function tokenOf({ metadata }: Pick<KubeList<KubeObject>, 'metadata'>): string | undefined {
  return metadata.continue === '' ? undefined : metadata.continue;
}
