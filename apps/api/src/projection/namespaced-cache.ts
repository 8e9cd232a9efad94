import { type CacheChange, type KubeObject, ObjectCache, splitKey } from '@coxswain/kube';

/**
 * The objects of one kind in the namespaces that the API may read: one cache for every namespace together, or one for each namespace of a list. Each
 * cache has its own resourceVersion, because each follows a watch of its own.
 */
export class NamespacedCache<T extends KubeObject> {
  readonly #caches: ReadonlyMap<string, ObjectCache<T>>;
  readonly #isConfined: boolean;

  /** `namespaces`: those that the API may read; empty: all. */
  constructor(namespaces: readonly string[]) {
    this.#isConfined = namespaces.length > 0;
    this.#caches = new Map((this.#isConfined ? namespaces : ['']).map((name) => [name, new ObjectCache<T>()]));
  }

  /** The cache that a reflector of this namespace fills; '' names all namespaces. */
  cacheOf(namespace: string): ObjectCache<T> {
    const cache = this.within(namespace);
    if (cache === undefined) throw new Error(`the API is not configured to read namespace "${namespace}"`);
    return cache;
  }

  /** The cache with the objects of a namespace; undefined if the API may not read the namespace, so that nothing is known of its objects. */
  within(namespace: string): ObjectCache<T> | undefined {
    return this.#caches.get(this.#isConfined ? namespace : '');
  }

  get(key: string): T | undefined {
    return this.within(splitKey(key).namespace ?? '')?.get(key);
  }

  addIndex(name: string, keysOf: (object: T) => readonly string[]): void {
    for (const cache of this.#caches.values()) cache.addIndex(name, keysOf);
  }

  onChange(handler: (change: CacheChange<T>) => void): void {
    for (const cache of this.#caches.values()) cache.onChange(handler);
  }
}
