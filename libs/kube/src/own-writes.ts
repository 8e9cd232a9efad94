import type { KubeObject } from './kube-object.ts';
import { keyOf } from './kube-object.ts';
import { compareResourceVersions } from './resource-version.ts';
import type { ObjectCache } from './object-cache.ts';

/**
 * Read your own writes: lays the server's responses to this process's writes over a cache that has not seen them yet.
 *
 * A watch may lag by seconds. Without this a pod that was just created looks missing and one that was just deleted looks alive. An answer is dropped
 * as soon as the cache holds that object at least as new, or after {@link KEEP_MS}. A reader that still misses the object then must ask the server.
 */
export class OwnWrites<T extends KubeObject> {
  readonly #cache: ObjectCache<T>;
  readonly #monotonicMs: () => number;
  readonly #written = new Map<string, { readonly group: string; readonly object: T; readonly atMs: number }>();
  /** UIDs of what is written, by group: a view must not walk the writes of all others. */
  readonly #groups = new Map<string, Set<string>>();
  readonly #gone = new Map<string, number>();

  constructor(cache: ObjectCache<T>, clock: { monotonicMs(): number }) {
    this.#cache = cache;
    this.#monotonicMs = () => clock.monotonicMs();
    cache.onChange((change) => {
      const uid = change.object.metadata.uid ?? '';
      if (change.kind === 'deleted') {
        this.#forget(uid);
        // Kept, because the response to our own write may arrive after the watch event of its deletion.
        this.rememberGone(uid);
        return;
      }
      const written = this.#written.get(uid);
      if (written !== undefined && !isNewer(written.object, change.object)) this.#forget(uid);
    });
  }

  /** Records an object that a write or a live read returned. `group` is the UID or key of the object that it was written for. */
  remember(group: string, object: T): void {
    const uid = object.metadata.uid;
    if (uid === undefined || this.#gone.has(uid)) return;
    const known = this.#written.get(uid);
    if (known !== undefined && isNewer(known.object, object)) return;
    this.#forget(uid);
    this.#written.set(uid, { group, object, atMs: this.#monotonicMs() });
    const members = this.#groups.get(group);
    if (members === undefined) this.#groups.set(group, new Set([uid]));
    else members.add(uid);
  }

  /** The object of that key (`namespace/name`) and UID as new as it is known, whether or not the cache has seen it. */
  get(key: string, uid: string): T | undefined {
    const cached = this.#cache.get(key);
    return cached?.metadata.uid === uid ? this.newest(cached) : this.#written.get(uid)?.object;
  }

  /** The object of that UID in exactly that version, if a write or a live read returned it and no watch event of it or a later version has arrived. */
  answered(uid: string, resourceVersion: string): T | undefined {
    const object = this.#written.get(uid)?.object;
    return object?.metadata.resourceVersion === resourceVersion ? object : undefined;
  }

  /** Records that the server confirmed the deletion of the object with this UID. */
  rememberGone(uid: string): void {
    this.#forget(uid);
    this.#gone.delete(uid);
    this.#gone.set(uid, this.#monotonicMs());
    this.#expire();
  }

  /** Whether the server confirmed the deletion of the object with this UID. */
  isGone(uid: string): boolean {
    return this.#gone.has(uid);
  }

  /** The cached objects of a group, updated by newer responses. */
  view(group: string, cached: readonly T[]): readonly T[] {
    this.#expire();
    const unseen = new Set(this.#groups.get(group));
    if (unseen.size === 0 && this.#gone.size === 0) return cached;
    const current: T[] = [];
    for (const object of cached) {
      const uid = object.metadata.uid ?? '';
      unseen.delete(uid);
      if (!this.#gone.has(uid)) current.push(this.newest(object));
    }
    for (const uid of unseen) {
      const written = this.#written.get(uid);
      if (written !== undefined) current.push(written.object);
    }
    return current;
  }

  /** All cached objects of every group, updated like {@link view}. */
  all(): readonly T[] {
    this.#expire();
    const cached = this.#cache.list();
    const seen = new Set(cached.map((object) => object.metadata.uid ?? ''));
    const unseen = [...this.#written].flatMap(([uid, { object }]) => (seen.has(uid) ? [] : [object]));
    const current = cached.filter((object) => !this.#gone.has(object.metadata.uid ?? ''));
    return [...current.map((object) => this.newest(object)), ...unseen];
  }

  /** The cached object, or a newer response to one of our writes. */
  newest(cached: T): T {
    const written = this.#written.get(cached.metadata.uid ?? '');
    return written !== undefined && isNewer(written.object, cached) ? written.object : cached;
  }

  /** For how long the watch has owed the cache an object that a write or live read returned; 0 if it owes none. */
  unseenForMs(): number {
    this.#expire();
    for (const { object, atMs } of this.#written.values()) {
      const cached = this.#cache.get(keyOf(object));
      if (cached === undefined || isNewer(object, cached)) return this.#monotonicMs() - atMs;
    }
    return 0;
  }

  /** Number of responses held; for tests of memory. */
  get size(): number {
    return this.#written.size + this.#gone.size;
  }

  #forget(uid: string): void {
    const group = this.#written.get(uid)?.group;
    if (group === undefined) return;
    this.#written.delete(uid);
    const members = this.#groups.get(group);
    members?.delete(uid);
    if (members?.size === 0) this.#groups.delete(group);
  }

  #expire(): void {
    const before = this.#monotonicMs() - KEEP_MS;
    // Insertion order is time order, so the first one that is young enough ends the search.
    for (const [uid, { atMs }] of this.#written) {
      if (atMs > before) break;
      this.#forget(uid);
    }
    for (const [uid, atMs] of this.#gone) {
      if (atMs > before) break;
      this.#gone.delete(uid);
    }
  }

  /** The cache this is laid over. */
  get cached(): ObjectCache<T> {
    return this.#cache;
  }
}

const KEEP_MS = 60_000;

function isNewer(a: KubeObject, b: KubeObject): boolean {
  const order = compareResourceVersions(a.metadata.resourceVersion, b.metadata.resourceVersion);
  return order !== undefined && order > 0;
}
