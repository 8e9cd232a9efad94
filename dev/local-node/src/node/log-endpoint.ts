import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { LogReader, type LogLine } from '../container/log-file.ts';

const POLL_MS = 100;

/** One log that is asked for. */
export interface LogQuestion {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly which: 'current' | 'previous';
}

/** Where that log is, or a sentence why there is none. */
export type LogAnswer =
  { readonly path: string; readonly isGrowing: () => boolean } | { readonly status: number; readonly problem: string };

/** Where the endpoint listens, with which certificate, and how it finds a log. */
export interface LogEndpointOptions {
  readonly address: string;
  readonly port: number;
  readonly certPem: string;
  readonly keyPem: string;
  /** Only clients with a certificate of this authority are answered. */
  readonly clientCaPem: string;
  readonly find: (question: LogQuestion) => LogAnswer;
}

/** The part of a kubelet's HTTPS server that `kubectl logs` reaches through the apiserver. */
export class LogEndpoint {
  readonly #server: Server;
  readonly #options: LogEndpointOptions;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  constructor(options: LogEndpointOptions) {
    this.#options = options;
    const { certPem: cert, keyPem: key, clientCaPem: ca } = options;
    this.#server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true }, (request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      if (this.#isCut) {
        socket.destroy();
      }
    });
  }

  async listen(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.listen(this.#options.port, this.#options.address, resolve);
    await promise;
  }

  /** Drops every connection, present and future, until {@link join}. */
  cut(): void {
    this.#isCut = true;
    this.#sockets.forEach((socket) => socket.destroy());
  }

  join(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    await promise;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'https://node');
    if (url.pathname === '/healthz') {
      response.end('ok');
      return;
    }
    const [, route, namespace, pod, container] = url.pathname.split('/').map(decodeURIComponent);
    if (request.method !== 'GET' || route !== 'containerLogs' || !namespace || !pod || !container) {
      refuse(response, 404, 'a local node serves /containerLogs/{namespace}/{pod}/{container} and /healthz only');
      return;
    }
    const which = url.searchParams.get('previous') === 'true' ? 'previous' : 'current';
    const found = this.#options.find({ namespace, pod, container, which });
    if ('problem' in found) {
      refuse(response, found.status, found.problem);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.flushHeaders();
    await sendLog(response, found, readOptions(url.searchParams));
    response.end();
  }
}

function refuse(response: ServerResponse, status: number, problem: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' });
  response.end(problem);
}

interface LogOptions {
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  /** RFC 3339; lines of an earlier time are left out. */
  readonly since: string | undefined;
  readonly stream: string;
}

function readOptions(query: URLSearchParams): LogOptions {
  const number = (name: string): number | undefined => (query.has(name) ? Number(query.get(name)) : undefined);
  const sinceSeconds = number('sinceSeconds');
  const sinceTime = query.get('sinceTime');
  const sinceMs = sinceSeconds === undefined ? Date.parse(sinceTime ?? '') : Date.now() - sinceSeconds * 1000;
  return {
    follow: query.get('follow') === 'true',
    timestamps: query.get('timestamps') === 'true',
    tailLines: number('tailLines'),
    limitBytes: number('limitBytes'),
    since: Number.isNaN(sinceMs) ? undefined : new Date(sinceMs).toISOString(),
    stream: query.get('stream') ?? 'All',
  };
}

async function sendLog(
  response: ServerResponse,
  log: Extract<LogAnswer, { path: string }>,
  options: LogOptions,
): Promise<void> {
  const reader = new LogReader(log.path);
  const isAsked = (line: LogLine): boolean =>
    (options.since === undefined || line.time >= options.since.slice(0, -1)) &&
    (options.stream === 'All' || line.stream === options.stream.toLowerCase());
  let leftBytes = options.limitBytes ?? Number.POSITIVE_INFINITY;
  const send = async (lines: readonly LogLine[]): Promise<void> => {
    const text = Buffer.from(lines.map((line) => format(line, options)).join(''));
    const part = text.subarray(0, Math.min(text.length, leftBytes));
    leftBytes -= part.length;
    if (part.length > 0 && !response.write(part)) {
      await new Promise<void>((resolve) => {
        response.once('drain', resolve);
        response.once('close', resolve);
      });
    }
  };
  const present = reader.readAll().filter(isAsked);
  await send(options.tailLines === undefined ? present : present.slice(present.length - options.tailLines));
  while (options.follow && leftBytes > 0 && !response.destroyed) {
    const grows = log.isGrowing(); // Asked before reading, so that the last lines are not missed.
    await send(reader.readAll().filter(isAsked));
    if (!grows) {
      return;
    }
    await delay(POLL_MS);
  }
}

function format(line: LogLine, options: LogOptions): string {
  return `${options.timestamps ? `${line.time} ` : ''}${line.text}${line.isWhole ? '\n' : ''}`;
}
