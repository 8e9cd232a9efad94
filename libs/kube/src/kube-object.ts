/** A reference from an object to the one it belongs to. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** The metadata that this library reads; it keeps everything else in an object unchanged. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly generateName?: string;
  /** Identity that the server assigns: two successive objects of one name have different UIDs. Absent only before creation. */
  readonly uid?: string;
  /** Decimal, comparable within one resource type (Kubernetes 1.35 and later, KEP-5504). Absent only before creation. */
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly managedFields?: readonly unknown[];
}

/** The least that every Kubernetes object has. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** A page of a collection as the server sends it; items of a list lack apiVersion and kind on the wire and get them back here. */
export interface KubeList<T extends KubeObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}

/** `namespace/name`, or `name` for cluster-scoped objects: the key of caches and queues. */
export function keyOf(object: { readonly metadata: Pick<ObjectMeta, 'name' | 'namespace'> }): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

/** The parts of a key made by `keyOf`. */
export function splitKey(key: string): { readonly namespace?: string; readonly name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
