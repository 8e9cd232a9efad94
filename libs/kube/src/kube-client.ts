import type { Clock } from './clock.ts';
import type { KubeconfigChoice } from './credentials.ts';
import type { KubeList, KubeObject, ObjectMeta } from './kube-object.ts';

/**
 * A call waits only for calls of its own lane.
 *
 * - `lease`: renewals of a lease. No limit, and connections of their own.
 * - `control`: calls that decisions wait for: status, deletes, live reads, lists.
 * - `bulk`: calls that come by the thousand: creating the pods of a gang and removing their gates.
 * - `identity`: calls that identify a connecting client: TokenReviews and reads of its pod.
 */
export type Lane = 'lease' | BoundedLane;

/** The lanes that carry a limited number of calls at once. */
export type BoundedLane = 'control' | 'bulk' | 'identity';

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Replaces the client's time limit for the whole call, answer body included. */
  readonly timeoutMs?: number;
  /** Called when the call's turn has come; an upper bound on its time limit, whatever `timeoutMs` is. */
  readonly atMostMs?: () => number;
  /** Default `control`. */
  readonly lane?: Lane;
  /** Key for fair sharing, for instance the UID of a job: waiting calls are served round-robin over keys. */
  readonly turnOf?: string;
  /**
   * Called right before the request is handed to its connection, after every wait. The call rejects with what it throws.
   * Give `() => lease.assertLeading()` to writes: a process may be stopped between an earlier check and the sending.
   */
  readonly guard?: () => void;
}

/** Which part of a collection to list, and how fresh. Without `resourceVersion` the answer is the newest state (a quorum read). */
export interface ListOptions extends CallOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
}

/** How to create. */
export interface CreateOptions extends CallOptions {
  readonly dryRun?: boolean;
  /** `Strict` rejects unknown fields with 400; without it the server drops them silently. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
}

/** Options of a server-side apply. The object is the whole intent of one manager, which gives up fields that are left out. */
export interface ApplyOptions extends CallOptions {
  /** Defaults to the client's. */
  readonly fieldManager?: string;
  /** Takes over fields of other managers instead of failing with 409. */
  readonly force?: boolean;
  readonly subresource?: 'status' | 'scale';
  readonly dryRun?: boolean;
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
}

/** How to patch: `json` is RFC 6902 (use its `test` as precondition), `merge` RFC 7386 (put metadata.resourceVersion and uid into it). */
export interface PatchOptions extends CallOptions {
  readonly type: 'json' | 'merge';
  readonly subresource?: string;
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
}

/** How to replace. */
export interface ReplaceOptions extends CallOptions {
  readonly subresource?: 'status';
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
}

/** A whole object as it shall be, based on the version that was read. */
export interface Replacement extends KubeObject {
  readonly metadata: ObjectMeta & { readonly uid: string; readonly resourceVersion: string };
}

/** Which very object to delete. The UID is mandatory: a successor under the same name must never be hit. */
export interface DeleteOptions extends CallOptions {
  readonly uid: string;
  readonly resourceVersion?: string;
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly dryRun?: boolean;
}

/** A long-lived GET: a watch or a log. */
export interface StreamOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Ends the stream: iteration then throws a KubeApiError with reason Aborted (or Timeout). */
  readonly signal: AbortSignal;
  /** Time limit for the head of the answer only. */
  readonly timeoutMs?: number;
  readonly accept?: string;
}

/** The answer to a stream request that was accepted. */
export interface KubeStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** The server's answer to `/version`. */
export interface KubeVersion {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
}

/**
 * The Kubernetes API as raw JSON: nothing is converted, dropped or added on the way in or out. Paths come from `resourcePath`.
 * Every method rejects with KubeApiError. There is no deleteCollection: it cannot carry UIDs.
 */
export interface KubeClient {
  get<T = KubeObject>(path: string, options?: CallOptions): Promise<T>;
  list<T extends KubeObject>(collectionPath: string, options?: ListOptions): Promise<KubeList<T>>;
  create<T = KubeObject>(collectionPath: string, body: unknown, options?: CreateOptions): Promise<T>;
  apply<T = KubeObject>(path: string, body: unknown, options?: ApplyOptions): Promise<T>;
  patch<T = KubeObject>(path: string, body: unknown, options: PatchOptions): Promise<T>;
  /**
   * PUTs the whole object, or the whole of its status: fields that the body leaves out are removed, whichever client wrote them. So the body must be
   * based on what was read: without UID and resourceVersion nothing is sent, and a newer version on the server is a conflict.
   */
  replace<T extends Replacement>(path: string, body: T, options?: ReplaceOptions): Promise<T>;
  /** Resolves with the object's last state while it still exists (finalizers, grace period), or with a Status. A 404 is an error. */
  delete(path: string, options: DeleteOptions): Promise<unknown>;
  version(options?: CallOptions): Promise<KubeVersion>;
  requestStream(path: string, options: StreamOptions): Promise<KubeStream>;
  /** Drops every connection. */
  close(): Promise<void>;
}

/** Limits of one client. */
export interface ClientLimits {
  /** Time limit of a call, body included. Default 15 000. */
  readonly timeoutMs?: number;
  /** Calls under way at once in each lane. Default 16. */
  readonly maxInFlight?: number;
  /** The same for single lanes. */
  readonly lanes?: Partial<Readonly<Record<BoundedLane, number>>>;
  /** Sustained calls per second and burst above it; no limit by default (the apiserver's own fairness decides). */
  readonly rate?: { readonly perSecond: number; readonly burst: number };
}

/** How to make a client. */
export interface KubeClientOptions extends KubeconfigChoice, ClientLimits {
  readonly userAgent: string;
  /** Default of `apply`, and the manager recorded for create and patch. */
  readonly fieldManager?: string;
  readonly clock?: Clock;
}
