import type { Clock } from './clock.ts';
import type { KubeObject } from './kube-object.ts';
import { keyOf } from './kube-object.ts';
import { compareResourceVersions, newerResourceVersion } from './resource-version.ts';
import type { ObjectStore } from './store.ts';

/** How expectations are kept. */
export interface ExpectationsOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** After so long a key counts as satisfied: a cache that far behind is the reflector's trouble, not a reason to stop for good. Default 5 min. */
  readonly maxAgeMs?: number;
  /** Called when a key was given up on. */
  readonly onExpired?: (key: string) => void;
}

/**
 * Reads of own writes: after writing objects of one type on behalf of a key, a controller waits with that key until the store of that
 * type has seen the writes. One instance per type written. (Kubernetes compares versions the same way since 1.36, KEP-5647.)
 *
 * A write is seen when the store has come to the written resourceVersion: versions of one type are ordered, so whatever happened to the
 * object since is seen too. A deletion answered without a version is seen when that UID is gone from the store.
 */
export class Expectations<T extends KubeObject = KubeObject> {
  readonly #options: ExpectationsOptions;
  readonly #expected = new Map<string, Expected>();

  constructor(options: ExpectationsOptions) {
    this.#options = options;
  }

  /** How many keys wait. */
  get size(): number {
    return this.#expected.size;
  }

  /** The server answered a create, apply or patch on behalf of `key` with `object`. */
  wrote(key: string, object: KubeObject): void {
    const expected = this.#of(key);
    expected.version = newerResourceVersion(expected.version, object.metadata.resourceVersion);
    if (compareResourceVersions(object.metadata.resourceVersion, object.metadata.resourceVersion) === undefined) {
      expected.written.set(keyOf(object), object.metadata.uid ?? '');
    }
  }

  /** The server accepted the deletion of `object` on behalf of `key`. */
  deleted(key: string, object: KubeObject): void {
    this.#of(key).deleted.set(keyOf(object), object.metadata.uid ?? '');
  }

  /** Whether the store has seen everything that was written for `key`; then it is forgotten. */
  isSatisfied(key: string, store: Pick<ObjectStore<T>, 'get' | 'resourceVersion'>): boolean {
    const expected = this.#expected.get(key);
    if (expected === undefined) return true;
    if (this.#options.clock.monotonicMs() - expected.sinceMs >= (this.#options.maxAgeMs ?? 300_000)) {
      this.#expected.delete(key);
      this.#options.onExpired?.(key);
      return true;
    }
    if (!isSeen(expected, store)) return false;
    this.#expected.delete(key);
    return true;
  }

  /** Expects nothing of `key` any more, for instance because its object is gone. */
  forget(key: string): void {
    this.#expected.delete(key);
  }

  #of(key: string): Expected {
    const known = this.#expected.get(key);
    if (known !== undefined) return known;
    const expected: Expected = {
      sinceMs: this.#options.clock.monotonicMs(),
      version: undefined,
      written: new Map(),
      deleted: new Map(),
    };
    this.#expected.set(key, expected);
    return expected;
  }
}

interface Expected {
  readonly sinceMs: number;
  /** The newest version written. */
  version: string | undefined;
  /** Object key -> UID, for servers whose versions cannot be compared. */
  readonly written: Map<string, string>;
  readonly deleted: Map<string, string>;
}

function isSeen(expected: Expected, store: Pick<ObjectStore<KubeObject>, 'get' | 'resourceVersion'>): boolean {
  const order = compareResourceVersions(store.resourceVersion, expected.version);
  if (expected.version !== undefined && (order === undefined || order < 0)) return false;
  for (const [key, uid] of expected.written) if (store.get(key)?.metadata.uid !== uid) return false;
  for (const [key, uid] of expected.deleted) {
    const known = store.get(key)?.metadata;
    if (known?.uid === uid && known.deletionTimestamp === undefined) return false;
  }
  return true;
}
