import { createHash } from 'node:crypto';
import { createSecureContext } from 'node:tls';

import { Agent } from 'undici';

import type { CredentialSource, Credentials } from './credentials.ts';
import { KubeApiError } from './errors.ts';

/** One HTTP request, relative to the apiserver. */
export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with query string. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** `api`: the bounded pool. `stream`: a connection of its own for as long as it lasts, which also suits calls that must not queue. */
  readonly pool: 'api' | 'stream';
  /** Called right before sending, through `passGuard`. */
  readonly guard?: () => void;
}

/** A guard threw: nothing was sent. Its error is the cause. */
export class GuardRefusal extends Error {
  override readonly name = 'GuardRefusal';
}

/** Calls the guard of a request, if it has one. */
export function passGuard({ guard }: TransportRequest): void {
  try {
    guard?.();
  } catch (cause) {
    throw new GuardRefusal('the guard of the request rejected it', { cause });
  }
}

/** An answer whose head has arrived. */
export interface TransportAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** `text` reads the whole body, if the transport can do that faster than by chunks. */
  readonly body: AsyncIterable<Uint8Array> & { text?(): Promise<string> };
}

/** Sends requests: undici in programs, a script in tests. Rejects with a KubeApiError of status 0 if there is no response. */
export interface KubeTransport {
  send(request: TransportRequest): Promise<TransportAnswer>;
  /** After a 401: read the credentials again before the next request. */
  refreshCredentials(): void;
  close(): Promise<void>;
}

/** How many connections the bounded pool may hold, and how long one may take to open. */
export interface PoolOptions {
  readonly connections: number;
  readonly connectTimeoutMs: number;
}

/**
 * undici with keep-alive pools. Pools are keyed by the content of CA, certificate and key, so renewed credentials get new connections
 * while requests under way finish on the old ones.
 */
export function undiciTransport(credentials: CredentialSource, pool: PoolOptions): KubeTransport {
  let agents: Agents | undefined;
  let agentsOf: Credentials | undefined;

  const agentsFor = (found: Credentials): Agents => {
    // The same object until it is read anew, and hashing a few kB for each of thousands of calls is felt.
    if (agents !== undefined && found === agentsOf) return agents;
    const identity = identityOf(found);
    const retired = agents;
    if (agents?.identity !== identity) agents = makeAgents(identity, found, pool);
    agentsOf = found;
    if (agents === retired) return agents;
    // close() waits for what is under way; a watch there ends by its own timeout.
    if (retired !== undefined) void closeAgents(retired);
    return agents;
  };

  return {
    send: async (what) => {
      const found = await credentials.current();
      passGuard(what);
      try {
        const { origin, basePath, api, stream } = agentsFor(found);
        const answer = await (what.pool === 'api' ? api : stream).request({
          origin,
          path: basePath + what.path,
          method: what.method,
          headers: { ...what.headers, ...found.headers },
          body: what.body ?? null,
          signal: what.signal,
        });
        return { status: answer.statusCode, headers: flatten(answer.headers), body: answer.body };
      } catch (cause) {
        throw unanswered(what, cause);
      }
    },
    refreshCredentials: () => credentials.invalidate(),
    close: async () => {
      const open = agents;
      agents = undefined;
      if (open !== undefined) await Promise.all([open.api.destroy(), open.stream.destroy()]);
    },
  };
}

/** The KubeApiError of a request that got no (complete) answer. */
export function unanswered(what: Pick<TransportRequest, 'method' | 'path'>, cause: unknown): KubeApiError {
  if (cause instanceof KubeApiError) return cause;
  // By shape: an abort reason may come from another realm, where it is no instance of this one's Error.
  const { name = '', message: text = String(cause) } = (cause ?? {}) as {
    readonly name?: string;
    readonly message?: string;
  };
  const reason =
    name === 'TimeoutError' || /Timeout/.test(name)
      ? 'Timeout'
      : name === 'AbortError'
        ? 'Aborted'
        : 'ConnectionFailed';
  return new KubeApiError({
    status: 0,
    reason,
    message: `${what.method} ${what.path.split('?')[0] ?? what.path} got no answer (${reason}): ${text}`,
    cause,
  });
}

interface Agents {
  readonly identity: string;
  readonly origin: string;
  /** Path prefix if the API server is behind a proxy; else empty. */
  readonly basePath: string;
  readonly api: Agent;
  readonly stream: Agent;
}

/**
 * How long an unused connection is kept. The API server closes it after 90 s. A gang that ends and starts makes thousands of calls in bursts with pauses of
 * seconds; with undici's 4 s each burst opened its connections anew, at 2 to 5 ms of CPU for each handshake.
 */
const IDLE_CONNECTION_MS = 60_000;

function makeAgents(identity: string, found: Credentials, pool: PoolOptions): Agents {
  const connect = {
    // Read once: each new connection would read the certificates again.
    secureContext: createSecureContext({ ca: found.ca, cert: found.cert, key: found.key }),
    timeout: pool.connectTimeoutMs,
    rejectUnauthorized: !found.skipTlsVerify,
    keepAlive: true,
    keepAliveInitialDelay: 15_000,
    ...(found.servername === undefined ? {} : { servername: found.servername }),
  };
  // HTTP/1.1 on purpose: aborting a request then drops its connection, so a half-open one is never met twice.
  const shared = { connect, allowH2: false, pipelining: 1, keepAliveTimeout: IDLE_CONNECTION_MS };
  const { origin, pathname } = new URL(found.server);
  return {
    identity,
    origin,
    basePath: pathname.replace(/\/+$/, ''),
    // Time limits are the caller's signal: one clock decides, not three.
    api: new Agent({ ...shared, connections: pool.connections, headersTimeout: 0, bodyTimeout: 0 }),
    stream: new Agent({ ...shared, headersTimeout: 0, bodyTimeout: 0 }),
  };
}

function closeAgents(retired: Agents): Promise<unknown> {
  return Promise.allSettled([retired.api.close(), retired.stream.close()]);
}

function identityOf(found: Credentials): string {
  const hash = createHash('sha256');
  for (const part of [found.server, found.ca, found.cert, found.key, found.servername, String(found.skipTlsVerify)]) {
    hash.update(part ?? '').update('\0');
  }
  return hash.digest('hex');
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string | undefined> {
  const flat: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  return flat;
}
