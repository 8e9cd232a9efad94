import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@coxswain/kube';
import { listenHttp, type HttpListener, type ListenAddress } from './http-listener.ts';

/** The text that Prometheus scrapes. */
export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

/** Source of the metrics, and of the token that a scrape must have. */
export interface MetricsSource {
  readonly expose: () => Promise<Exposition>;
  /** Undefined: there is no token at the moment, so no scrape is answered. */
  readonly token: () => Promise<string | undefined>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** Scrapes within this time get the same text. */
const SHARED_MS = 1_000;
/** Open connections, in all and of one address, so that one client does not keep others out. A Prometheus needs one. */
const MAX_CONNECTIONS = 256;
const MAX_OF_ADDRESS = 8;
const REQUEST_WITHIN_MS = 10_000;
/** A token that was replaced works for so long. */
const TOKEN_READ_MS = 10_000;

/** Serves `/metrics` to clients with the token. However many ask, the metrics are collected at most once a second. Rejects when the port is taken. */
export async function startMetricsServer(source: MetricsSource, listen: ListenAddress): Promise<HttpListener> {
  const expose = sharedExposition(source);
  const answerOf = async (request: IncomingMessage): Promise<Answer> => {
    if ((request.url ?? '/').split('?')[0] !== '/metrics') return text(404, 'there is /metrics\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') return text(405, 'only GET is answered here\n');
    const token = await source.token();
    if (token === undefined) return text(503, 'no token for metrics is configured, or its file cannot be read\n');
    if (!isToken(bearerOf(request), token)) return text(401, 'metrics need the token of this port\n');
    return { status: 200, ...(await expose()) };
  };
  const server = createServer((request, response) => {
    answerOf(request)
      .catch((error: unknown) => text(500, `metrics could not be collected: ${String(error)}\n`))
      .then(({ status, contentType, text: body }) => {
        const challenge = status === 401 ? { 'www-authenticate': 'Bearer', connection: 'close' } : {};
        response.writeHead(status, { 'content-type': contentType, ...challenge }).end(body);
      })
      .catch(() => response.destroy());
  });
  server.maxConnections = MAX_CONNECTIONS;
  limitAddresses(server);
  server.requestTimeout = REQUEST_WITHIN_MS;
  server.headersTimeout = REQUEST_WITHIN_MS;
  return listenHttp(server, listen);
}

function limitAddresses(server: Server): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const count = (open.get(address) ?? 0) + 1;
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
    if (count > MAX_OF_ADDRESS) socket.destroy();
  });
}

/** Reads a token from a file, which may be replaced while the process runs, as the kubelet does with a Secret. */
export function tokenFromFile(path: string, clock: Pick<Clock, 'monotonicMs'>): () => Promise<string | undefined> {
  let token: Promise<string | undefined> = Promise.resolve(undefined);
  let readAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (clock.monotonicMs() - readAtMs >= TOKEN_READ_MS) {
      readAtMs = clock.monotonicMs();
      token = readFile(path, 'utf8').then(
        (content) => (content.trim() === '' ? undefined : content.trim()),
        () => undefined,
      );
    }
    return token;
  };
}

interface Answer extends Exposition {
  readonly status: number;
}

function text(status: number, body: string): Answer {
  return { status, contentType: 'text/plain; charset=utf-8', text: body };
}

function sharedExposition({ expose, clock }: Pick<MetricsSource, 'expose' | 'clock'>): () => Promise<Exposition> {
  let shared: Promise<Exposition> | undefined;
  let sharedUntilMs = Infinity;
  return () => {
    if (shared !== undefined && clock.monotonicMs() < sharedUntilMs) return shared;
    const collected = expose();
    shared = collected;
    sharedUntilMs = Infinity;
    collected.then(
      () => (sharedUntilMs = clock.monotonicMs() + SHARED_MS),
      () => (shared = undefined),
    );
    return collected;
  };
}

/** Compares digests, which have one length, in a time that does not depend on where they differ. */
function isToken(offered: string, token: string): boolean {
  return timingSafeEqual(digestOf(offered), digestOf(token));
}

function digestOf(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}

function bearerOf({ headers }: IncomingMessage): string {
  return /^Bearer (\S{1,8192})$/i.exec(headers.authorization ?? '')?.[1] ?? '';
}
