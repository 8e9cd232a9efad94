import type { Clock } from './clock.ts';
import { sleep, systemClock } from './clock.ts';
import type { KubeconfigChoice } from './credentials.ts';
import { fileCredentials } from './credentials.ts';
import { KubeApiError, errorFromAnswer } from './errors.ts';
import type { KubeList, KubeObject } from './kube-object.ts';
import { TokenBucket } from './token-bucket.ts';
import type { KubeTransport, TransportAnswer, TransportRequest } from './transport.ts';
import { GuardRefusal, undiciTransport, unanswered } from './transport.ts';

/** What every call may say about itself. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Replaces the client's time limit for the whole call, answer body included. */
  readonly timeoutMs?: number;
  /** Skips rate and concurrency limits and the bounded pool: for lease renewals, which must not queue behind work. */
  readonly unthrottled?: boolean;
  /**
   * Called at the last moment before the request is handed to its connection, after every wait; what it throws is what the call rejects
   * with. Give `() => lease.assertLeading()` to writes: a process may be stopped between an earlier check and the sending.
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
  /** `Strict` refuses unknown fields with 400; without it the server drops them silently. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
}

/** How to apply: the whole intent of one manager; a field left out is given up. */
export interface ApplyOptions extends CallOptions {
  /** Defaults to the client's. */
  readonly fieldManager?: string;
  /** Takes fields over from other managers instead of answering 409. */
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

/** What `/version` says. */
export interface KubeVersion {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
}

/**
 * The Kubernetes API as raw JSON: nothing is converted, dropped or added on the way in or out. Paths come from `resourcePath`.
 * Every method rejects with KubeApiError. There is no deleteCollection (it cannot carry UIDs) and no PUT (it undoes others' fields).
 */
export interface KubeClient {
  get<T = KubeObject>(path: string, options?: CallOptions): Promise<T>;
  list<T extends KubeObject>(collectionPath: string, options?: ListOptions): Promise<KubeList<T>>;
  create<T = KubeObject>(collectionPath: string, body: unknown, options?: CreateOptions): Promise<T>;
  apply<T = KubeObject>(path: string, body: unknown, options?: ApplyOptions): Promise<T>;
  patch<T = KubeObject>(path: string, body: unknown, options: PatchOptions): Promise<T>;
  /** Answers with the object's last state while it is still there (finalizers, grace period), or with a Status. A 404 is an error. */
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
  /** Calls under way at once, and connections in the pool. Default 16. */
  readonly maxInFlight?: number;
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

/** A client for the cluster of a kubeconfig or of the pod this runs in. Nothing is read before the first call. */
export function createKubeClient(options: KubeClientOptions): KubeClient {
  const clock = options.clock ?? systemClock;
  const transport = undiciTransport(fileCredentials(options, clock), {
    connections: options.maxInFlight ?? DEFAULT_IN_FLIGHT,
    connectTimeoutMs: Math.min(10_000, options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
  });
  return createKubeClientOver(transport, { ...options, clock });
}

/** A client over any transport. */
export function createKubeClientOver(
  transport: KubeTransport,
  options: ClientLimits & { readonly userAgent: string; readonly fieldManager?: string; readonly clock: Clock },
): KubeClient {
  const exchange = makeExchange(transport, options);
  const manager = (chosen: string | undefined): string | undefined => chosen ?? options.fieldManager;
  const dryRun = (wanted: boolean | undefined): string | undefined => (wanted === true ? 'All' : undefined);

  return {
    get: (path, call = {}) => exchange.json({ method: 'GET', path }, call),
    list: async <T extends KubeObject>(path: string, call: ListOptions = {}): Promise<KubeList<T>> => {
      const { labelSelector, fieldSelector, limit, resourceVersion, resourceVersionMatch } = call;
      const query = {
        labelSelector,
        fieldSelector,
        limit,
        continue: call.continue,
        resourceVersion,
        resourceVersionMatch,
      };
      return withItemTypes(await exchange.json<KubeList<T>>({ method: 'GET', path, query }, call));
    },
    create: (path, body, call = {}) => {
      const query = {
        dryRun: dryRun(call.dryRun),
        fieldValidation: call.fieldValidation,
        fieldManager: manager(undefined),
      };
      return exchange.json({ method: 'POST', path, query, body, contentType: 'application/json' }, call);
    },
    apply: (path, body, call = {}) => {
      const fieldManager = manager(call.fieldManager);
      if (fieldManager === undefined) {
        throw new Error(`apply to ${path} has no field manager: give one to the call or to the client`);
      }
      const query = {
        fieldManager,
        force: call.force === true ? true : undefined,
        dryRun: dryRun(call.dryRun),
        fieldValidation: call.fieldValidation,
      };
      const target = withSubresource(path, call.subresource);
      return exchange.json({ method: 'PATCH', path: target, query, body, contentType: APPLY_PATCH }, call);
    },
    patch: (path, body, call) => {
      const query = { fieldManager: manager(call.fieldManager), dryRun: dryRun(call.dryRun) };
      const target = withSubresource(path, call.subresource);
      return exchange.json({ method: 'PATCH', path: target, query, body, contentType: PATCH_TYPES[call.type] }, call);
    },
    delete: (path, call) => {
      const { uid, resourceVersion, gracePeriodSeconds, propagationPolicy } = call;
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
        ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
        ...(call.dryRun === true ? { dryRun: ['All'] } : {}),
      };
      return exchange.json({ method: 'DELETE', path, body, contentType: 'application/json' }, call);
    },
    version: (call = {}) => exchange.json<KubeVersion>({ method: 'GET', path: '/version' }, call),
    requestStream: (path, call) => exchange.stream(path, call),
    close: () => transport.close(),
  };
}

const DEFAULT_TIMEOUT_MS = 15_000;
const DEFAULT_IN_FLIGHT = 16;
const APPLY_PATCH = 'application/apply-patch+yaml';
const PATCH_TYPES = { json: 'application/json-patch+json', merge: 'application/merge-patch+json' } as const;

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

interface JsonRequest {
  readonly method: TransportRequest['method'];
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  readonly contentType?: string;
}

interface Exchange {
  json<T>(what: JsonRequest, call: CallOptions): Promise<T>;
  stream(path: string, call: StreamOptions): Promise<KubeStream>;
}

function makeExchange(
  transport: KubeTransport,
  options: ClientLimits & { readonly userAgent: string; readonly clock: Clock },
): Exchange {
  const { clock } = options;
  const gate = makeGate(options, clock);

  /** A 401 is answered before anything is carried out, so one more try with fresh credentials is safe for every verb. */
  const sendAuthenticated = async (what: TransportRequest): Promise<TransportAnswer> => {
    const answer = await transport.send(what);
    if (answer.status !== 401) return answer;
    await readText(answer.body);
    transport.refreshCredentials();
    return transport.send(what);
  };

  const json = async <T>(what: JsonRequest, call: CallOptions): Promise<T> => {
    const release = call.unthrottled === true ? noRelease : await gate.enter(call.signal);
    const limit = timeLimit(clock, call.timeoutMs ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS, call.signal);
    const path = what.path + queryString(what.query);
    try {
      const answer = await sendAuthenticated({
        method: what.method,
        path,
        headers: {
          accept: 'application/json',
          'user-agent': options.userAgent,
          ...(what.contentType === undefined ? {} : { 'content-type': what.contentType }),
        },
        ...(what.body === undefined ? {} : { body: JSON.stringify(what.body) }),
        signal: limit.signal,
        pool: call.unthrottled === true ? 'stream' : 'api',
        ...(call.guard === undefined ? {} : { guard: call.guard }),
      });
      return parseAnswer<T>(what, answer, await readText(answer.body));
    } catch (error) {
      if (error instanceof GuardRefusal) throw error.cause;
      throw unanswered({ method: what.method, path }, limit.signal.aborted ? limit.signal.reason : error);
    } finally {
      limit.done();
      release();
    }
  };

  const stream = async (path: string, call: StreamOptions): Promise<KubeStream> => {
    const limit = timeLimit(clock, call.timeoutMs ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS, call.signal);
    const what = { method: 'GET' as const, path: path + queryString(call.query) };
    try {
      const answer = await sendAuthenticated({
        ...what,
        headers: { accept: call.accept ?? 'application/json', 'user-agent': options.userAgent },
        signal: limit.signal,
        pool: 'stream',
      });
      if (!isSuccess(answer.status)) throw refusal(what, answer, await readText(answer.body));
      limit.headArrived();
      return { ...answer, body: typedErrors(what, answer.body, limit) };
    } catch (error) {
      limit.done();
      throw unanswered(what, limit.signal.aborted ? limit.signal.reason : error);
    }
  };
  return { json, stream };
}

async function* typedErrors(
  what: Pick<TransportRequest, 'method' | 'path'>,
  body: AsyncIterable<Uint8Array>,
  limit: TimeLimit,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw unanswered(what, limit.signal.aborted ? limit.signal.reason : error);
  } finally {
    limit.done();
  }
}

interface TimeLimit {
  readonly signal: AbortSignal;
  /** From here on only the caller's own signal ends the request. */
  headArrived(): void;
  done(): void;
}

function timeLimit(clock: Clock, timeoutMs: number, outer: AbortSignal | undefined): TimeLimit {
  const controller = new AbortController();
  const cancel = clock.setTimer(timeoutMs, () => {
    controller.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError'));
  });
  const onOuter = (): void => {
    const reason: unknown = outer?.reason;
    controller.abort(isNamedAbort(reason) ? reason : new DOMException('the caller gave up', 'AbortError'));
  };
  if (outer?.aborted) onOuter();
  outer?.addEventListener('abort', onOuter, { once: true });
  return {
    signal: controller.signal,
    headArrived: cancel,
    done: () => {
      cancel();
      outer?.removeEventListener('abort', onOuter);
    },
  };
}

function isNamedAbort(reason: unknown): boolean {
  const name = (reason as { readonly name?: unknown } | null | undefined)?.name;
  return name === 'TimeoutError' || name === 'AbortError';
}

interface Gate {
  /** Resolves when it is the caller's turn, with how to leave. */
  enter(signal: AbortSignal | undefined): Promise<() => void>;
}

/** First come, first served: at most `maxInFlight` at once, no faster than `rate`. */
function makeGate(limits: ClientLimits, clock: Clock): Gate {
  const bucket =
    limits.rate === undefined
      ? undefined
      : new TokenBucket({ ratePerSecond: limits.rate.perSecond, burst: limits.rate.burst, clock });
  const waiting = new Set<() => void>();
  let free = limits.maxInFlight ?? DEFAULT_IN_FLIGHT;
  const leave = (): void => {
    free += 1;
    const next = waiting.values().next().value;
    if (next === undefined) return;
    waiting.delete(next);
    free -= 1;
    next();
  };
  const slot = (signal: AbortSignal | undefined): Promise<void> => {
    if (free > 0) {
      free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        waiting.delete(turn);
        reject(givenUp());
      };
      const turn = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      waiting.add(turn);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  };
  return {
    enter: async (signal) => {
      if (signal?.aborted) throw givenUp();
      const waitMs = bucket?.take() ?? 0;
      if (waitMs > 0) await sleep(clock, waitMs, signal);
      if (signal?.aborted) throw givenUp();
      await slot(signal);
      return leave;
    },
  };
}

function givenUp(): KubeApiError {
  return new KubeApiError({ status: 0, reason: 'Aborted', message: 'the caller gave up before the request was sent' });
}

const noRelease = (): void => undefined;

function parseAnswer<T>(what: JsonRequest, answer: TransportAnswer, text: string): T {
  if (!isSuccess(answer.status)) throw refusal(what, answer, text);
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new KubeApiError({
      status: 0,
      reason: 'MalformedAnswer',
      message: `${what.method} ${what.path} was answered ${answer.status} with a body that is no JSON`,
      cause,
    });
  }
}

function refusal(what: { method: string; path: string }, answer: TransportAnswer, body: string): KubeApiError {
  const request = `${what.method} ${what.path.split('?')[0] ?? what.path}`;
  return errorFromAnswer({ status: answer.status, body, retryAfter: answer.headers['retry-after'], request });
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** The wire leaves kind and apiVersion out of a built-in list's items; an object must say what it is. */
function withItemTypes<T extends KubeObject>(list: KubeList<T>): KubeList<T> {
  if (typeof list?.kind !== 'string' || typeof list.metadata?.resourceVersion !== 'string') {
    throw new KubeApiError({
      status: 0,
      reason: 'MalformedAnswer',
      message: 'the answer to a list is no Kubernetes list',
    });
  }
  if (!Array.isArray(list.items)) return { ...list, items: [] };
  const kind = list.kind.replace(/List$/, '');
  const items = list.items.map((item) =>
    typeof item !== 'object' || item === null || item.kind !== undefined
      ? item
      : ({ apiVersion: list.apiVersion, kind, ...(item as object) } as T),
  );
  return { ...list, items };
}

function withSubresource(path: string, subresource: string | undefined): string {
  return subresource === undefined ? path : `${path}/${encodeURIComponent(subresource)}`;
}

function queryString(query: Query | undefined): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
