import type {
  CallOptions,
  DeleteOptions,
  KubeClient,
  ListOptions,
  PatchOptions,
  Replacement,
  StreamOptions,
} from '../kube-client.ts';
import { KubeApiError } from '../errors.ts';
import type { KubeList, KubeObject, ObjectMeta } from '../kube-object.ts';

type Json = Record<string, unknown>;

/** What a test may ask the fake to do to a request: throw (before anything happens), or nothing. */
export type Interference = (request: { readonly verb: string; readonly path: string; readonly body: unknown }) => void;

/**
 * An apiserver in memory behind the client's own interface: versions, UIDs, conflicts, finalizers, paged lists and watches. It knows
 * no schema: an apply is a deep merge without field ownership, label selectors are equalities only, field selectors are ignored.
 */
export class FakeKubeApi implements KubeClient {
  readonly #objects = new Map<string, KubeObject>();
  readonly #history: {
    readonly version: number;
    readonly type: string;
    readonly path: string;
    readonly object: KubeObject;
  }[] = [];
  readonly #watchers = new Set<() => void>();
  #version = 100;
  #uids = 0;
  #bookmarks = 0;
  #compactedTo = 0;
  #deaf: Deafness | undefined;
  /** Every write that succeeded, in order. */
  readonly writes: { readonly verb: string; readonly path: string; readonly body: unknown }[] = [];
  /** Called before each request; throw a KubeApiError from it to refuse. */
  interfere: Interference = () => undefined;

  /** The newest version. */
  get resourceVersion(): string {
    return String(this.#version);
  }

  /** Forgets the history so far: older watches and continue tokens get 410. */
  compact(): void {
    this.#compactedTo = this.#version;
    this.#history.length = 0;
  }

  /** Watches leave out these events from now on. Bookmarks still follow the newest version, except with `to all`. */
  deafen(to: Deafness): void {
    this.#deaf = to;
  }

  /** Sends a bookmark on every watch. */
  bookmark(): void {
    this.#bookmarks += 1;
    for (const wake of [...this.#watchers]) wake();
  }

  /** The objects under a collection path, as they are now. */
  objects<T extends KubeObject>(collectionPath: string): readonly T[] {
    return [...this.#objects].filter(([path]) => isIn(path, collectionPath)).map(([, object]) => object as T);
  }

  get<T>(path: string, _options?: CallOptions): Promise<T> {
    return this.#answer('get', path, undefined, () => this.#require(path)) as Promise<T>;
  }

  list<T extends KubeObject>(collectionPath: string, options: ListOptions = {}): Promise<KubeList<T>> {
    return this.#answer('list', collectionPath, undefined, () => {
      const [asOf = this.#version, offset = 0] = options.continue?.split(':').map(Number) ?? [];
      if (options.continue !== undefined && asOf < this.#compactedTo) throw failure(410, 'Expired');
      const all = this.objects<T>(collectionPath)
        .filter((object) => isSelected(object, options.labelSelector))
        .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
      const end = options.limit === undefined ? all.length : offset + options.limit;
      const isCounted = (options.labelSelector ?? '') === '';
      const rest = isCounted ? { remainingItemCount: all.length - end } : {};
      const more = end < all.length ? { continue: `${asOf}:${end}`, ...rest } : {};
      const metadata = { resourceVersion: String(asOf), ...more };
      return { apiVersion: 'v1', kind: 'List', metadata, items: structuredClone(all.slice(offset, end)) };
    });
  }

  create<T>(collectionPath: string, body: unknown): Promise<T> {
    return this.#answer('create', collectionPath, body, () => {
      const { metadata } = body as KubeObject;
      const path = `${collectionPath}/${metadata.name}`;
      if (this.#objects.has(path)) throw failure(409, 'AlreadyExists');
      return this.#put(path, 'ADDED', {
        ...(body as KubeObject),
        metadata: this.#newMetadata(collectionPath, metadata),
      });
    }) as Promise<T>;
  }

  apply<T>(path: string, body: unknown, options: { readonly subresource?: string } = {}): Promise<T> {
    return this.#answer('apply', path, body, () => {
      const current = this.#objects.get(path);
      if (current !== undefined) return this.#change(path, merge(current, dropStatusUnless(body, options.subresource)));
      if (options.subresource !== undefined) throw failure(404, 'NotFound');
      const { metadata } = body as KubeObject;
      if (metadata.uid !== undefined) throw failure(409, 'Conflict');
      const collectionPath = path.slice(0, path.lastIndexOf('/'));
      return this.#put(path, 'ADDED', {
        ...(body as KubeObject),
        metadata: this.#newMetadata(collectionPath, metadata),
      });
    }) as Promise<T>;
  }

  patch<T>(path: string, body: unknown, options: PatchOptions): Promise<T> {
    return this.#answer('patch', path, body, () => {
      const current = this.#require(path);
      const patched =
        options.type === 'merge' ? merge(current, body) : jsonPatch(current, body as readonly JsonPatchStep[]);
      return this.#change(path, patched as KubeObject);
    }) as Promise<T>;
  }

  replace<T extends Replacement>(path: string, body: T, options: { readonly subresource?: string } = {}): Promise<T> {
    return this.#answer('replace', path, body, () => {
      const current = this.#require(path) as KubeObject & Json;
      const given = body as unknown as KubeObject & Json;
      const { uid, resourceVersion } = body.metadata;
      if (uid !== current.metadata.uid || resourceVersion !== current.metadata.resourceVersion)
        throw failure(409, 'Conflict');
      // Of status only status counts; of the rest, all but what the server keeps itself.
      if (options.subresource === 'status')
        return this.#change(path, { ...current, status: given['status'] } as KubeObject);
      const { creationTimestamp, deletionTimestamp, generation } = current.metadata;
      const kept = { creationTimestamp, deletionTimestamp, generation };
      const metadata = { ...given.metadata, ...JSON.parse(JSON.stringify(kept)) } as ObjectMeta;
      return this.#change(path, { ...given, metadata, status: current['status'] } as KubeObject);
    }) as Promise<T>;
  }

  delete(path: string, options: DeleteOptions): Promise<unknown> {
    return this.#answer('delete', path, options, () => {
      const current = this.#require(path);
      const isOther =
        current.metadata.uid !== options.uid ||
        (options.resourceVersion !== undefined && options.resourceVersion !== current.metadata.resourceVersion);
      if (isOther) throw failure(409, 'Conflict');
      if ((current.metadata.finalizers ?? []).length === 0) return this.#remove(path, current);
      const deletionTimestamp = current.metadata.deletionTimestamp ?? '2026-01-01T00:00:00Z';
      return this.#put(path, 'MODIFIED', { ...current, metadata: { ...current.metadata, deletionTimestamp } });
    });
  }

  version(): Promise<{ major: string; minor: string; gitVersion: string }> {
    return Promise.resolve({ major: '1', minor: '37', gitVersion: 'v1.37.0-fake' });
  }

  async requestStream(
    path: string,
    options: StreamOptions,
  ): Promise<{ status: number; headers: Record<string, never>; body: AsyncIterable<Uint8Array> }> {
    await this.#answer('watch', path, undefined, () => undefined);
    if (options.query?.['sendInitialEvents'] === true) {
      return { status: 200, headers: {}, body: this.#listAndEvents(path, options.signal) };
    }
    const from = Number(options.query?.['resourceVersion'] ?? this.#version);
    if (from < this.#compactedTo) throw failure(410, 'Expired');
    return { status: 200, headers: {}, body: this.#events(path, from, options.signal) };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async *#listAndEvents(path: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const version = this.#version;
    const line = (type: string, object: unknown): Buffer => Buffer.from(`${JSON.stringify({ type, object })}\n`);
    for (const object of structuredClone(this.objects(path))) yield line('ADDED', object);
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    yield line('BOOKMARK', { metadata: { resourceVersion: String(version), annotations } });
    yield* this.#events(path, version, signal);
  }

  async *#events(path: string, from: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let seen = from;
    let bookmarks = this.#bookmarks;
    let reached = from;
    while (!signal.aborted) {
      // A watch that lagged behind a compaction is told so, as by a real server: it never loses events in silence.
      if (seen < this.#compactedTo) {
        const status = { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410, message: 'compacted' };
        yield Buffer.from(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
        return;
      }
      for (const entry of this.#history.filter((event) => event.version > seen)) {
        seen = entry.version;
        if (this.#deaf !== 'to all') reached = seen;
        if (isIn(entry.path, path) && !this.#isLost(entry.object))
          yield Buffer.from(`${JSON.stringify({ type: entry.type, object: entry.object })}\n`);
      }
      if (bookmarks < this.#bookmarks) {
        bookmarks = this.#bookmarks;
        const version = this.#deaf === 'to all' ? reached : seen;
        const object = { metadata: { resourceVersion: String(version) } };
        yield Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
      }
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#watchers.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        this.#watchers.add(wake);
        signal.addEventListener('abort', wake, { once: true });
      });
    }
    throw new KubeApiError({ status: 0, reason: 'Aborted', message: 'the watch was stopped' });
  }

  #isLost({ metadata }: KubeObject): boolean {
    return typeof this.#deaf === 'object' ? metadata.name === this.#deaf.name : this.#deaf !== undefined;
  }

  async #answer<A>(verb: string, path: string, body: unknown, perform: () => A): Promise<A> {
    await Promise.resolve();
    this.interfere({ verb, path, body });
    const answer = structuredClone(perform());
    if (['create', 'apply', 'patch', 'replace', 'delete'].includes(verb)) this.writes.push({ verb, path, body });
    return answer;
  }

  #require(path: string): KubeObject {
    const object = this.#objects.get(path);
    if (object === undefined) throw failure(404, 'NotFound');
    return object;
  }

  #newMetadata(collectionPath: string, given: ObjectMeta): ObjectMeta {
    const namespace = /\/namespaces\/([^/]+)\/[^/]+$/.exec(collectionPath)?.[1];
    const uid = `uid-${(this.#uids += 1)}`;
    return { ...given, ...(namespace === undefined ? {} : { namespace }), uid, generation: 1 };
  }

  /** A change with the preconditions that its metadata carries; one that changes nothing makes no new version. */
  #change(path: string, changed: KubeObject): KubeObject {
    const current = this.#require(path);
    const { uid, resourceVersion } = changed.metadata;
    if (uid !== current.metadata.uid || resourceVersion !== current.metadata.resourceVersion)
      throw failure(409, 'Conflict');
    if (JSON.stringify(changed) === JSON.stringify(current)) return current;
    if (changed.metadata.deletionTimestamp !== undefined && (changed.metadata.finalizers ?? []).length === 0) {
      return this.#remove(path, changed);
    }
    const specs = [current, changed].map((object) => JSON.stringify((object as unknown as Json)['spec']));
    const generation = (current.metadata.generation ?? 1) + (specs[0] === specs[1] ? 0 : 1);
    return this.#put(path, 'MODIFIED', { ...changed, metadata: { ...changed.metadata, generation } });
  }

  #put(path: string, type: 'ADDED' | 'MODIFIED', object: KubeObject): KubeObject {
    const stored = this.#stamp(path, type, object);
    this.#objects.set(path, stored);
    return stored;
  }

  #remove(path: string, object: KubeObject): KubeObject {
    this.#objects.delete(path);
    return this.#stamp(path, 'DELETED', object);
  }

  #stamp(path: string, type: string, object: KubeObject): KubeObject {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    const stamped = structuredClone({ ...object, metadata });
    this.#history.push({ version: this.#version, type, path, object: stamped });
    for (const wake of [...this.#watchers]) wake();
    return stamped;
  }
}

/** Which events watches leave out: all, all with the progress of bookmarks, or those of the objects of one name. */
export type Deafness = 'to events' | 'to all' | { readonly name: string };

interface JsonPatchStep {
  readonly op: 'add' | 'replace' | 'remove' | 'test';
  readonly path: string;
  readonly value?: unknown;
}

function failure(status: number, reason: string): KubeApiError {
  return new KubeApiError({ status, reason, message: `${reason} (fake apiserver)` });
}

/** Whether an object's path lies in a collection, which may span namespaces. */
function isIn(path: string, collectionPath: string): boolean {
  const collection = path.slice(0, path.lastIndexOf('/'));
  return collection === collectionPath || collection.replace(/\/namespaces\/[^/]+(?=\/)/, '') === collectionPath;
}

function isSelected(object: KubeObject, selector: string | undefined): boolean {
  if (selector === undefined || selector === '') return true;
  return selector.split(',').every((term) => {
    const [key = '', value] = term.split('=');
    const label = object.metadata.labels?.[key];
    return value === undefined ? label !== undefined : label === value;
  });
}

function dropStatusUnless(body: unknown, subresource: string | undefined): unknown {
  if (subresource === 'status') return body;
  const { status: _status, ...rest } = body as Json;
  return rest;
}

/** RFC 7386. */
function merge(target: unknown, change: unknown): KubeObject {
  return mergeValue(target, change) as KubeObject;
}

function mergeValue(target: unknown, change: unknown): unknown {
  if (typeof change !== 'object' || change === null || Array.isArray(change)) return change;
  const result: Json = typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else result[key] = mergeValue(result[key], value);
  }
  return result;
}

function jsonPatch(target: KubeObject, steps: readonly JsonPatchStep[]): KubeObject {
  const result = structuredClone(target);
  for (const { op, path, value } of steps) {
    const parts = path
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = parts.pop() ?? '';
    const parent = parts.reduce<unknown>((at, part) => (at as Json | undefined)?.[part], result) as Json | undefined;
    if (parent === undefined) throw failure(422, 'Invalid');
    if (op === 'test' && JSON.stringify(parent[last]) !== JSON.stringify(value)) throw failure(422, 'Invalid');
    if (op === 'add' && Array.isArray(parent)) parent.splice(last === '-' ? parent.length : Number(last), 0, value);
    else if (op === 'add' || op === 'replace') parent[last] = value;
    if (op === 'remove' && Array.isArray(parent)) parent.splice(Number(last), 1);
    else if (op === 'remove') delete parent[last];
  }
  return result;
}
