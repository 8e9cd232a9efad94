import type { KubeObject } from './kube-object.ts';
import { keyOf } from './kube-object.ts';
import type { KubeMetrics } from './metrics.ts';
import { noMetrics } from './metrics.ts';
import { compareResourceVersions, newerResourceVersion } from './resource-version.ts';

/** One change of one object. A new UID under an old name is a deletion followed by an addition, never an update. */
export type CacheChange<T extends KubeObject> =
  | { readonly kind: 'added'; readonly object: T; readonly previous?: undefined }
  | { readonly kind: 'updated'; readonly object: T; readonly previous: T }
  | { readonly kind: 'deleted'; readonly object: T; readonly previous?: undefined };

/** An error of a handler or index function. The cache continues without it. */
export interface CacheProblem {
  readonly where: 'handler' | 'index';
  readonly key: string;
  readonly error: unknown;
}

/** Returns the keys under which an index files an object; none if the index does not contain it. */
export type IndexFunction<T extends KubeObject> = (object: T) => readonly string[];

/**
 * The last known objects of one collection, by `namespace/name`, with indexes.
 *
 * Only a reflector writes to it. Per UID an older resourceVersion never replaces a newer one. Lists are snapshots in the order of
 * first arrival, so a caller may iterate while events come in. Objects are shared and must not be changed by readers.
 */
export class ObjectCache<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #handlers = new Set<(change: CacheChange<T>) => unknown>();
  readonly #onProblem: (problem: CacheProblem) => void;
  readonly #metrics: KubeMetrics;
  #resourceVersion: string | undefined;

  constructor(options: { readonly onProblem?: (problem: CacheProblem) => void; readonly metrics?: KubeMetrics } = {}) {
    this.#onProblem = options.onProblem ?? (() => undefined);
    this.#metrics = options.metrics ?? noMetrics;
  }

  /** How many objects there are. */
  get size(): number {
    return this.#objects.size;
  }

  /** The newest resourceVersion up to which everything has been seen; undefined before the first list. */
  get resourceVersion(): string | undefined {
    return this.#resourceVersion;
  }

  /** The object of that key, or undefined. Absence here is no proof of absence in the cluster. */
  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** All objects, as a snapshot. */
  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  /** Adds an index over present and future objects. If the function throws, the object is left out of the index and the error is reported. */
  addIndex(name: string, keysOf: IndexFunction<T>): void {
    if (this.#indexes.has(name)) throw new Error(`the index "${name}" exists already`);
    const index: Index<T> = { keysOf, members: new Map() };
    this.#indexes.set(name, index);
    for (const [key, object] of this.#objects) this.#enter(index, key, this.#indexKeys(index, key, object));
  }

  /** The objects that an index files under `indexKey`, as a snapshot. */
  byIndex(name: string, indexKey: string): readonly T[] {
    const members = this.#membersOf(name, indexKey);
    if (members === undefined) return [];
    const keys = typeof members === 'string' ? [members] : members;
    const found: T[] = [];
    for (const key of keys) {
      const object = this.#objects.get(key);
      if (object !== undefined) found.push(object);
    }
    return found;
  }

  /** How many objects have that key in the index, without collecting them. Throws for an index that was never added. */
  countByIndex(name: string, indexKey: string): number {
    const members = this.#membersOf(name, indexKey);
    return typeof members === 'string' ? 1 : (members?.size ?? 0);
  }

  #membersOf(name: string, indexKey: string): string | ReadonlySet<string> | undefined {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`there is no index "${name}": add it with addIndex first`);
    return index.members.get(indexKey);
  }

  /** The index keys in use, for tests of memory and for listings by group. */
  indexKeys(name: string): readonly string[] {
    return [...(this.#indexes.get(name)?.members.keys() ?? [])];
  }

  /** Calls `handler` on every change from now on; returns how to stop. A handler that throws or rejects is isolated and reported. */
  onChange(handler: (change: CacheChange<T>) => unknown): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /** Reflector only: stores an object as of its resourceVersion. Returns the effect. */
  upsert(object: T): 'added' | 'updated' | 'replaced' | 'stale' | 'same' {
    const key = keyOf(object);
    const known = this.#objects.get(key);
    if (known === undefined) {
      this.#put(key, object);
      this.#notify({ kind: 'added', object });
      return 'added';
    }
    const order = compareResourceVersions(object.metadata.resourceVersion, known.metadata.resourceVersion);
    if (order !== undefined && order < 0) return 'stale';
    if (known.metadata.uid !== object.metadata.uid) {
      this.#drop(key, known);
      this.#notify({ kind: 'deleted', object: known });
      this.#put(key, object);
      this.#notify({ kind: 'added', object });
      return 'replaced';
    }
    if (order === 0) return 'same';
    this.#put(key, object, known);
    this.#notify({ kind: 'updated', object, previous: known });
    return 'updated';
  }

  /** Reflector only: the object is gone, `object` being its last state. Another UID under the name, or a newer version of it, stays. */
  remove(object: T): 'deleted' | 'stale' | 'absent' {
    const key = keyOf(object);
    const known = this.#objects.get(key);
    if (known === undefined) return 'absent';
    const order = compareResourceVersions(object.metadata.resourceVersion, known.metadata.resourceVersion);
    if (known.metadata.uid !== object.metadata.uid || (order !== undefined && order < 0)) return 'stale';
    this.#drop(key, known);
    this.#notify({ kind: 'deleted', object });
    return 'deleted';
  }

  /** Reflector only: a complete list as of `resourceVersion`. What it lacks is deleted first, so names are free for their successors. */
  replace(objects: readonly T[], resourceVersion: string): void {
    const listed = new Set(objects.map(keyOf));
    for (const [key, known] of [...this.#objects]) {
      if (listed.has(key)) continue;
      this.#drop(key, known);
      this.#notify({ kind: 'deleted', object: known });
    }
    for (const object of objects) this.upsert(object);
    this.advanceTo(resourceVersion);
  }

  /** Reflector only: everything up to `resourceVersion` has been seen. */
  advanceTo(resourceVersion: string): void {
    this.#resourceVersion = newerResourceVersion(this.#resourceVersion, resourceVersion);
  }

  #put(key: string, object: T, previous?: T): void {
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) {
      const now = this.#indexKeys(index, key, object);
      const before = previous === undefined ? NO_KEYS : this.#indexKeys(index, key, previous);
      if (sameKeys(before, now)) continue;
      this.#leave(index, key, before);
      this.#enter(index, key, now);
    }
  }

  #drop(key: string, known: T): void {
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) this.#leave(index, key, this.#indexKeys(index, key, known));
  }

  #indexKeys(index: Index<T>, key: string, object: T): readonly string[] {
    try {
      return index.keysOf(object);
    } catch (error) {
      this.#report({ where: 'index', key, error });
      return NO_KEYS;
    }
  }

  #enter(index: Index<T>, key: string, indexKeys: readonly string[]): void {
    for (const indexKey of indexKeys) {
      const members = index.members.get(indexKey);
      if (members === undefined) index.members.set(indexKey, key);
      else if (typeof members !== 'string') members.add(key);
      else if (members !== key) index.members.set(indexKey, new Set([members, key]));
    }
  }

  #leave(index: Index<T>, key: string, indexKeys: readonly string[]): void {
    for (const indexKey of indexKeys) {
      const members = index.members.get(indexKey);
      if (members === key) index.members.delete(indexKey);
      if (members === undefined || typeof members === 'string') continue;
      members.delete(key);
      if (members.size === 0) index.members.delete(indexKey);
    }
  }

  #notify(change: CacheChange<T>): void {
    for (const handler of [...this.#handlers]) {
      const failed = (error: unknown): void => {
        this.#report({ where: 'handler', key: keyOf(change.object), error });
      };
      try {
        const result = handler(change);
        // An async handler is allowed to exist, not to kill the process.
        if (result instanceof Promise) result.catch(failed);
      } catch (error) {
        failed(error);
      }
    }
  }

  #report(problem: CacheProblem): void {
    this.#metrics.count('cache_handler_errors_total', { where: problem.where });
    try {
      this.#onProblem(problem);
    } catch {
      // The error handler failed too; the counter above has the error.
    }
  }
}

/** Most index keys have one member: a bare string then costs a tenth of a Set. */
interface Index<T extends KubeObject> {
  readonly keysOf: IndexFunction<T>;
  readonly members: Map<string, string | Set<string>>;
}

const NO_KEYS: readonly string[] = [];

function sameKeys(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key, position) => key === b[position]);
}
