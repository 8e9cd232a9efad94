/**
 * A proxy in front of a real API server that delays, refuses and cuts what passes. More than 400 lines: every fault acts on the same
 * connections.
 */
import { Agent, createServer, request as httpsRequest, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { freePort, type KeyPair } from '@coxswain/local-cluster';
import { ActiveFaults, type ActiveFault } from './active-faults.ts';
import { statusBody, type Fault, type FaultAction, type SeenRequest, type Verb } from './faults.ts';
import { relayWatch } from './relay-watch.ts';
import { resetConnection } from './reset-connection.ts';
import { addressOf, seenRequest } from './seen-request.ts';

/** How to stand in front of an apiserver. */
export interface FaultProxyOptions {
  readonly upstream: {
    readonly url: string;
    readonly caPem: string;
    /** Speak upstream with this certificate, for clients that have no token to pass on. */
    readonly client?: KeyPair;
  };
  /** What the proxy shows to clients, for 127.0.0.1; the plane's own authority can issue it. */
  readonly certificate: KeyPair;
  /** Verifies `certificate`; handed on as `caPem`. */
  readonly caPem: string;
  /** Of `probability`. 1 by default. */
  readonly seed?: number;
}

/** A write that passed the proxy. */
export interface RecordedWrite {
  /** From 0, in order of arrival. */
  readonly sequence: number;
  readonly verb: Verb;
  readonly path: string;
  readonly subresource: string | undefined;
  /** Of the object answered; undefined when the answer names none. */
  readonly uid: string | undefined;
  readonly body: string;
  /** What the apiserver said; 0 when the write never reached it. */
  readonly status: number;
  /** The status that the client got; 0 if it got no answer. */
  readonly clientStatus: number;
  readonly atMs: number;
}

/** A moment of a write: before it is sent upstream, or after it was answered upstream and before the client knows. */
export interface WriteMoment {
  readonly stage: 'beforeSend' | 'afterAnswer';
  readonly sequence: number;
  readonly verb: Verb;
  readonly path: string;
  readonly body: string;
  /** What the apiserver said; 0 before it was asked. */
  readonly status: number;
}

/** A request that passed the proxy, of any verb. */
export interface RecordedRequest extends SeenRequest {
  readonly atMs: number;
}

/** A real HTTPS server in front of a real apiserver, which injects the configured faults and records what passed. */
export interface FaultProxy {
  readonly url: string;
  readonly caPem: string;
  /** Puts a fault in force; of several that match, the earliest added strikes. */
  add(fault: Fault): ActiveFault;
  clearFaults(): void;
  readonly writes: readonly RecordedWrite[];
  readonly requests: readonly RecordedRequest[];
  /** Watches that are open now. */
  readonly openWatches: number;
  /** Connections that clients have opened so far. */
  readonly connectionsOpened: number;
  clearRecords(): void;
  /** Calls `hook` around every write and waits for it: a kill point. Returns how to stop. */
  onWrite(hook: (moment: WriteMoment) => Promise<void> | void): () => void;
  /** Shows another certificate to connections from now on. */
  setCertificate(certificate: KeyPair): void;
  /** Resets every open connection. */
  resetConnections(): void;
  /** Stops listening and resets everything, as a server that is gone; `listenAgain` brings it back on the same port. */
  stopListening(): Promise<void>;
  listenAgain(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a fault proxy on a free loopback port, which stays free while the proxy does not listen. Bearer tokens pass through; without faults so does everything else. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const proxy = new HttpsFaultProxy(options);
  await proxy.listen(await freePort());
  return proxy;
}

class HttpsFaultProxy implements FaultProxy {
  readonly caPem: string;
  readonly writes: RecordedWrite[] = [];
  readonly requests: RecordedRequest[] = [];
  openWatches = 0;
  connectionsOpened = 0;
  readonly #options: FaultProxyOptions;
  readonly #upstream: Agent;
  readonly #faults: ActiveFaults;
  readonly #sockets = new Set<Socket>();
  readonly #hooks = new Set<(moment: WriteMoment) => Promise<void> | void>();
  #server: Server;
  #certificate: KeyPair;
  #port = 0;
  #sequence = 0;

  constructor(options: FaultProxyOptions) {
    this.#options = options;
    this.caPem = options.caPem;
    this.#certificate = options.certificate;
    const client = options.upstream.client;
    this.#upstream = new Agent({
      ca: options.upstream.caPem,
      keepAlive: true,
      ...(client === undefined ? {} : { cert: client.certPem, key: client.keyPem }),
    });
    this.#faults = new ActiveFaults(options.seed ?? 1);
    this.#server = this.#makeServer();
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  add(fault: Fault): ActiveFault {
    return this.#faults.add(fault);
  }

  clearFaults(): void {
    this.#faults.clear();
  }

  clearRecords(): void {
    this.writes.length = 0;
    this.requests.length = 0;
  }

  onWrite(hook: (moment: WriteMoment) => Promise<void> | void): () => void {
    this.#hooks.add(hook);
    return () => this.#hooks.delete(hook);
  }

  setCertificate(certificate: KeyPair): void {
    this.#certificate = certificate;
    this.#server.setSecureContext({ cert: certificate.certPem, key: certificate.keyPem });
  }

  resetConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async stopListening(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.resetConnections();
    await closed;
  }

  async listenAgain(): Promise<void> {
    this.#server = this.#makeServer();
    await this.listen(this.#port);
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.stopListening();
    this.#upstream.destroy();
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', () => {
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  #makeServer(): Server {
    const server = createServer(
      { cert: this.#certificate.certPem, key: this.#certificate.keyPem, keepAliveTimeout: 60_000, requestTimeout: 0 },
      (incoming, outgoing) => {
        this.#serve(incoming, outgoing).catch(() => resetConnection(outgoing));
      },
    );
    // The raw socket: only it can be reset, and it is there before a handshake succeeds.
    server.on('connection', (socket: Socket) => {
      this.connectionsOpened += 1;
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.on('tlsClientError', () => undefined);
    return server;
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const seen = seenRequest(incoming);
    this.requests.push({ ...seen, atMs: Date.now() });
    const body = await readAll(incoming);
    const action = this.#faults.strike(seen);
    if (seen.verb === 'watch') return this.#serveWatch({ incoming, outgoing, seen, action });
    // A dry run changes nothing.
    const isWrite = incoming.method !== 'GET' && !seen.query.has('dryRun');
    const sequence = isWrite ? this.#sequence++ : -1;
    const moment = { sequence, verb: seen.verb, path: seen.path, body };
    const record = (answer: Answer | undefined, clientStatus: number): void => {
      if (isWrite) this.writes.push(recorded(moment, answer, clientStatus));
    };

    if (isWrite) await this.#tellHooks({ ...moment, stage: 'beforeSend', status: 0 });
    const refusal = await this.#refusal(action, outgoing);
    if (refusal !== undefined) return record(undefined, refusal);
    const answer = await this.#forward(incoming, body);
    if (isWrite) await this.#tellHooks({ ...moment, stage: 'afterAnswer', status: answer.status });
    if (action?.kind === 'loseAnswer') {
      record(answer, 0);
      if (action.how === 'reset') resetConnection(outgoing);
      return;
    }
    if (action?.kind === 'delay' && action.side === 'answer') await action.until();
    record(answer, outgoing.destroyed ? 0 : answer.status);
    outgoing.writeHead(answer.status, answer.headers).end(answer.body);
  }

  /** Applies faults that keep a request from the API server. Returns the status that the client got, 0 for none. */
  async #refusal(action: FaultAction | undefined, outgoing: ServerResponse): Promise<number | undefined> {
    if (action?.kind === 'delay' && action.side === 'request') await action.until();
    if (action?.kind === 'hang') return 0;
    if (action?.kind === 'refuse') {
      resetConnection(outgoing);
      return 0;
    }
    if (action?.kind !== 'status') return undefined;
    answerStatus(outgoing, action);
    return action.status;
  }

  async #serveWatch(watch: {
    readonly incoming: IncomingMessage;
    readonly outgoing: ServerResponse;
    readonly seen: SeenRequest;
    readonly action: FaultAction | undefined;
  }): Promise<void> {
    const { incoming, outgoing, action } = watch;
    if ((await this.#refusal(action, outgoing)) !== undefined) return;
    this.openWatches += 1;
    outgoing.once('close', () => {
      this.openWatches -= 1;
    });
    await relayWatch({
      target: this.#target(incoming),
      outgoing,
      script: action?.kind === 'watch' ? action.script() : undefined,
      atOnce: action?.kind === 'watch' ? action.atOnce : undefined,
    });
  }

  async #tellHooks(moment: WriteMoment): Promise<void> {
    for (const hook of [...this.#hooks]) await hook(moment);
  }

  #target(incoming: IncomingMessage): Parameters<typeof httpsRequest>[1] & { url: URL } {
    const { host: _host, connection: _connection, ...headers } = incoming.headers;
    const url = new URL(incoming.url ?? '/', this.#options.upstream.url);
    return { url, agent: this.#upstream, method: incoming.method ?? 'GET', headers };
  }

  #forward(incoming: IncomingMessage, body: string): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const { url, ...target } = this.#target(incoming);
    const sent = httpsRequest(url, target, (answer) => {
      readAll(answer).then(
        (text) => resolve({ status: answer.statusCode ?? 0, headers: plainHeaders(answer), body: text }),
        reject,
      );
    });
    sent.on('error', reject);
    sent.end(body);
    return promise;
  }
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function recorded(
  moment: { readonly sequence: number; readonly verb: Verb; readonly path: string; readonly body: string },
  answer: Answer | undefined,
  clientStatus: number,
): RecordedWrite {
  return {
    ...moment,
    subresource: addressOf(moment.path).subresource,
    uid: answer === undefined ? undefined : uidOf(answer.body),
    status: answer?.status ?? 0,
    clientStatus,
    atMs: Date.now(),
  };
}

function uidOf(body: string): string | undefined {
  try {
    const value = JSON.parse(body) as { metadata?: { uid?: string }; details?: { uid?: string } };
    return value.metadata?.uid ?? value.details?.uid;
  } catch {
    return undefined;
  }
}

function answerStatus(outgoing: ServerResponse, action: Extract<FaultAction, { kind: 'status' }>): void {
  const { status, retryAfterSeconds } = action;
  outgoing
    .writeHead(status, {
      'content-type': 'application/json',
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    })
    .end(JSON.stringify(statusBody(status, action)));
}

function plainHeaders(answer: IncomingMessage): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const name of ['content-type', 'retry-after', 'warning', 'audit-id']) {
    const value = answer.headers[name];
    if (typeof value === 'string') plain[name] = value;
  }
  return plain;
}

async function readAll(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
