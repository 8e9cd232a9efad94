import { keyOf, KubeApiError, type KubeObject } from '@coxswain/kube';

/** The kinds that the operator deals with. */
export type Kind = 'TrainingJob' | 'Placement' | 'Checkpoint' | 'Pod' | 'Node' | 'ComputeDomain';

/** What a write expects to find; anything else is a conflict. */
export interface Precondition {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/**
 * As much of an API server as tests of the operator need: names, UIDs, versions, preconditions, finalizers and grace periods. Every
 * method does all of its work at once; whatever the real server would answer with an error is thrown as that error.
 */
export class InMemoryCluster {
  readonly #objects = new Map<string, KubeObject>();
  readonly #listeners = new Set<(kind: Kind, key: string) => void>();
  #version = 0;
  #created = 0;

  /** Calls `listener` after each change with the kind and key of what was changed. */
  onChange(listener: (kind: Kind, key: string) => void): void {
    this.#listeners.add(listener);
  }

  /** The object of that key (`namespace/name`, or `name` of a node). */
  get<T extends KubeObject>(kind: Kind, key: string): T | undefined {
    return this.#objects.get(idOf(kind, key)) as T | undefined;
  }

  list<T extends KubeObject>(kind: Kind): readonly T[] {
    return [...this.#objects].filter(([id]) => id.startsWith(`${kind} `)).map(([, object]) => object as T);
  }

  /** Holds these objects, UIDs and all, and nothing else from now on. */
  load(objects: readonly (KubeObject & { readonly kind: Kind })[]): void {
    this.#objects.clear();
    for (const object of objects) this.#put(idOf(object.kind, keyOf(object)), object);
    this.#created = objects.length;
  }

  /** A name that is taken is an AlreadyExists. */
  create<T extends KubeObject>(kind: Kind, object: unknown): T {
    const draft = object as KubeObject;
    const id = idOf(kind, keyOf(draft));
    if (this.#objects.has(id)) throw problem(409, 'AlreadyExists', `${id} already exists`);
    this.validate(kind, draft);
    this.#created += 1;
    const metadata = { ...draft.metadata, uid: `uid-${this.#created}`, generation: 1 };
    return this.#put(id, { ...draft, kind, metadata }) as T;
  }

  /** A pod without a container is refused as invalid. */
  validate(kind: Kind, object: KubeObject): void {
    const { spec } = object as { readonly spec?: { readonly containers?: readonly unknown[] } };
    if (kind !== 'Pod' || (spec?.containers ?? []).length > 0) return;
    throw problem(422, 'Invalid', `${idOf(kind, keyOf(object))} is invalid: spec.containers: Required value`);
  }

  /** Changes an object if it is the expected one; without a difference its version stays. */
  update<T extends KubeObject>(kind: Kind, key: string, call: { expects: Precondition; change: (current: T) => T }): T {
    const id = idOf(kind, key);
    const current = this.#expect(id, call.expects) as T;
    const changed = call.change(current);
    if (JSON.stringify(changed) === JSON.stringify(current)) return current;
    const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = changed.metadata;
    if (deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0) {
      this.#remove(id);
      return changed;
    }
    const isEdited = JSON.stringify(specOf(changed)) !== JSON.stringify(specOf(current));
    const generation = (current.metadata.generation ?? 1) + (isEdited ? 1 : 0);
    return this.#put(id, { ...changed, metadata: { ...changed.metadata, generation } }) as T;
  }

  /** Deletes an object, or marks it while a finalizer or a bound pod's grace period keeps it; answers with its last state. */
  delete(kind: Kind, key: string, options: Precondition & { readonly gracePeriodSeconds?: number } = {}): KubeObject {
    const id = idOf(kind, key);
    const current = this.#expect(id, options);
    const deletionGracePeriodSeconds = kind === 'Pod' && isOnNode(current) ? (options.gracePeriodSeconds ?? 30) : 0;
    if (deletionGracePeriodSeconds === 0 && (current.metadata.finalizers ?? []).length === 0) {
      this.#remove(id);
      return current;
    }
    // A later delete can only shorten the grace.
    if ((current.metadata.deletionGracePeriodSeconds ?? Infinity) <= deletionGracePeriodSeconds) return current;
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const metadata = { ...current.metadata, deletionTimestamp, deletionGracePeriodSeconds };
    return this.#put(id, { ...current, metadata });
  }

  #expect(id: string, { uid, resourceVersion }: Precondition): KubeObject {
    const current = this.#objects.get(id);
    if (current === undefined) throw problem(404, 'NotFound', `${id} not found`);
    const isOther = uid !== undefined && uid !== current.metadata.uid;
    const isNewer = resourceVersion !== undefined && resourceVersion !== current.metadata.resourceVersion;
    if (isOther || isNewer) throw problem(409, 'Conflict', `${id} is of another UID or version`);
    return current;
  }

  #put(id: string, object: KubeObject): KubeObject {
    this.#version += 1;
    const stored = structuredClone({
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(this.#version) },
    });
    this.#objects.set(id, stored);
    this.#notify(id);
    return stored;
  }

  #remove(id: string): void {
    this.#objects.delete(id);
    this.#notify(id);
  }

  #notify(id: string): void {
    const [kind, key] = id.split(' ') as [Kind, string];
    for (const listener of this.#listeners) listener(kind, key);
  }
}

function idOf(kind: Kind, key: string): string {
  return `${kind} ${key}`;
}

function specOf(object: KubeObject): unknown {
  return (object as { readonly spec?: unknown }).spec;
}

function isOnNode(pod: KubeObject): boolean {
  const { spec, status } = pod as {
    readonly spec?: { readonly nodeName?: string };
    readonly status?: { readonly phase?: string };
  };
  return spec?.nodeName !== undefined && !['Succeeded', 'Failed'].includes(status?.phase ?? '');
}

function problem(status: number, reason: string, message: string): KubeApiError {
  return new KubeApiError({ status, reason, message });
}
