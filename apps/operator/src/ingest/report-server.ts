import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  EARLIER_REPORT_PATH,
  MAX_REPORT_BYTES,
  REPLICA_URL_HEADER,
  REPORT_PATH,
  SERIES_PATH,
  KEPT_LOGS_PATH,
  OBSERVE_PATH,
  OBSERVED_JOBS_PATH,
  STACKS_PATH,
  UNREACHABLE_LEADER_HEADER,
} from '@coxswain/api-types';
import type { Clock } from '@coxswain/kube';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import type { KeyPair } from './authority.ts';
import { fairShareOf, type FairShare } from './fair-share.ts';
import { HeldBytes } from './held-bytes.ts';
import { ReportSession } from './report-session.ts';
import type { SessionContext } from './session-ports.ts';
import { serveSeries, type SeriesAccess } from './series-stream.ts';
import { type KeptLogsAccess, serveKeptLogs } from './serve-kept-logs.ts';
import { type ObservedJobsAccess, type ObserverEndpoint, serveObservedJobs } from './serve-observers.ts';
import { serveStacks, type StacksAccess } from './serve-stacks.ts';
import { Throttle } from './throttle.ts';
import { cutOffUnlessRead, sendTo } from './unread-bytes.ts';
import { UnidentifiedPlaces, type UnidentifiedLimits } from './unidentified-places.ts';

/** Options of the report server. */
export interface ReportServerOptions {
  readonly listenHost: string;
  readonly listenPort: number;
  /** Base URL of this replica alone. */
  readonly ownUrl: string;
  readonly serving: KeyPair;
  readonly sessions: SessionContext;
  readonly series: SeriesAccess;
  readonly stacks: StacksAccess;
  readonly keptLogs: KeptLogsAccess;
  /** Absent: pods of other controllers are not observed. */
  readonly observed?: { readonly endpoint: ObserverEndpoint; readonly jobs: ObservedJobsAccess };
  readonly clock: Clock;
  /** A connection without traffic for this time is cut, and the launcher reconnects. This is no evidence about the gang. */
  readonly silenceMs: number;
  readonly unidentified?: UnidentifiedLimits;
}

/** The TLS server for launchers, and for series and stacks that the API reads. */
export interface ReportServer {
  readonly port: number;
  /** Connections of launchers now. */
  readonly connections: number;
  /** Serves new connections with another certificate. */
  useCertificate(serving: KeyPair): void;
  stop(): Promise<void>;
}

/**
 * A TLS connection takes 20 to 40 kB outside the heap, which no thread limit bounds. This many connections take up to 320 MB; more would end the process
 * at its container's limit. 16,384 GPUs are 2,048 launchers, and all may reconnect before their dead connections are detected.
 */
const MAX_CONNECTIONS = 8_000;
/** As many as reconnect at once when the leader of 2,048 launchers dies. */
const UNIDENTIFIED: UnidentifiedLimits = { most: 2_048, helloWithinMs: 10_000 };
/** Time in which a disconnected launcher can read the reason. */
const PARTING_MS = 5_000;
/** Longer than observers of other controllers' pods rest between two reports. */
const KEEP_ALIVE_MS = 15_000;
/** Until a request, with its body, has arrived. Observers wait 10 s for an answer. */
const REQUEST_LIMITS = { requestTimeout: 15_000, headersTimeout: 10_000, connectionsCheckingInterval: 5_000 };
const PACE_CHECK_MS = 2_000;
/** Characters of unhandled frames of one connection above which reading pauses. */
const MAX_WAITING_CHARACTERS = 32_768;

/** Starts the server. Rejects if the port is in use. */
export async function startReportServer(options: ReportServerOptions): Promise<ReportServer> {
  const launchers = new Map<WebSocket, ReportSession>();
  const held = new HeldBytes();
  const unidentified = new UnidentifiedPlaces(options.unidentified ?? UNIDENTIFIED, (delayMs, fire) =>
    options.clock.setTimer(delayMs, fire),
  );
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_REPORT_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
  });
  sockets.on('headers', (headers) => headers.push(`${REPLICA_URL_HEADER}: ${options.ownUrl}`));
  const server = createServer(
    { cert: options.serving.certPem, key: options.serving.keyPem, minVersion: 'TLSv1.3', ...REQUEST_LIMITS },
    (request, response) => route({ options, unidentified }, request, response),
  );
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  let share = fairShareOf(0);
  let cancelPace = (): void => undefined;
  const keepPace = (): void => {
    share = fairShareOf(launchers.size);
    for (const session of launchers.values()) session.setRate(share.pace);
    cancelPace = options.clock.setTimer(PACE_CHECK_MS, keepPace);
  };
  keepPace();
  const connected = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    connected.add(socket);
    socket.on('close', () => {
      connected.delete(socket);
      unidentified.leave(key);
    });
    unidentified.enter(key, socket.remoteAddress ?? '', () => socket.destroy());
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined); // A connection that ends during its handshake needs no handling.
    if (![REPORT_PATH, EARLIER_REPORT_PATH].includes(pathOf(request)))
      return void socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n');
    if (launchers.size + (options.observed?.endpoint.connections ?? 0) >= MAX_CONNECTIONS) {
      return void socket.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n');
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      launchers.set(
        webSocket,
        attach({ webSocket, request, launchers, unidentified, held, share: () => share }, options),
      );
    });
  });
  server.on('tlsClientError', () => undefined);
  await listening(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return launchers.size;
    },
    useCertificate: ({ certPem, keyPem }) =>
      server.setSecureContext({ cert: certPem, key: keyPem, minVersion: 'TLSv1.3' }),
    stop: async () => {
      cancelPace();
      for (const session of [...launchers.values()]) {
        session.refuse({ code: 'notReady', message: 'this replica is shutting down' });
      }
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        // Also connections without a request.
        for (const socket of connected) socket.destroy();
      });
    },
  };
}

function attach(
  connection: {
    readonly webSocket: WebSocket;
    readonly request: IncomingMessage;
    readonly launchers: Map<WebSocket, ReportSession>;
    readonly unidentified: UnidentifiedPlaces;
    readonly held: HeldBytes;
    readonly share: () => FairShare;
  },
  options: ReportServerOptions,
): ReportSession {
  const { webSocket, request, launchers, unidentified, share } = connection;
  const key = keyOf(request.socket);
  const held = connection.held.open(() => webSocket.terminate());
  // Before the frames in it are complete.
  request.socket.prependListener('data', (chunk: Buffer) => held.receive(chunk.length));
  const { clock, silenceMs } = options;
  const throttle = new Throttle({ messages: () => share().frames, kilobytes: () => share().kilobytes, clock });
  let cancelParting = (): void => undefined;
  const session = new ReportSession(options.sessions, {
    token: bearerOf(request),
    pace: share().pace,
    unreachable: unreachableOf(request),
    onHello: () => unidentified.recordHello(key),
    onIdentified: () => {
      unidentified.leave(key);
      held.identify();
    },
    link: {
      send: (message) => sendTo(webSocket, message),
      close: () => {
        webSocket.close(1000);
        // Terminates the connection if the launcher does not close its side.
        cancelParting();
        cancelParting = clock.setTimer(PARTING_MS, () => webSocket.terminate());
      },
    },
  });
  let cancelSilence = (): void => undefined;
  const restartSilence = (): void => {
    cancelSilence();
    cancelSilence = clock.setTimer(silenceMs, () => webSocket.terminate());
  };
  // One frame at a time. With many unhandled frames the socket is not read, so a flood stays in the sender's buffers. With few it is read, so that pings
  // are answered while a checkpoint is being recorded.
  let turn = Promise.resolve();
  const handle = async (frame: string): Promise<void> => {
    const waitMs = throttle.take(frame.length);
    if (waitMs > 0) {
      options.sessions.count('slowed');
      await options.sessions.sleep(waitMs);
    }
    await session.receive(frame);
  };
  webSocket.on('message', (data: RawData, isBinary: boolean) => {
    restartSilence();
    const frame = isBinary ? '' : textOf(data);
    if (held.complete(frame.length) > MAX_WAITING_CHARACTERS) webSocket.pause();
    turn = turn
      .then(() => handle(frame))
      .catch(() => undefined) // A session never throws; if it does, the frame is lost and the connection continues.
      .finally(() => {
        if (held.handle(frame.length) <= MAX_WAITING_CHARACTERS) webSocket.resume();
      });
  });
  // Pings give an unidentified connection no extra time, because such places are few and shared by all tenants.
  webSocket.on('ping', () => {
    if (!cutOffUnlessRead(webSocket) && session.podUid !== undefined) restartSilence();
  });
  webSocket.on('error', () => webSocket.terminate());
  webSocket.on('close', () => {
    cancelSilence();
    cancelParting();
    session.end();
    held.close();
    launchers.delete(webSocket);
  });
  restartSilence();
  session.start();
  return session;
}

function route(
  { options, unidentified }: { readonly options: ReportServerOptions; readonly unidentified: UnidentifiedPlaces },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  response.on('error', () => undefined);
  const onIdentified = (): void => unidentified.leave(keyOf(request.socket));
  const call = { request, response, token: bearerOf(request), onIdentified };
  const path = `${request.method} ${pathOf(request)}`;
  if (path === `GET ${SERIES_PATH}`) {
    serveSeries(options.series, call).catch(() => response.destroy());
  } else if (path === `POST ${STACKS_PATH}`) {
    serveStacks(options.stacks, call).catch(() => response.destroy());
  } else if (path === `POST ${KEPT_LOGS_PATH}`) {
    serveKeptLogs(options.keptLogs, call).catch(() => response.destroy());
  } else if (path === `POST ${OBSERVE_PATH}` && options.observed !== undefined) {
    options.observed.endpoint.serve(call).catch(() => response.destroy());
  } else if (path === `POST ${OBSERVED_JOBS_PATH}` && options.observed !== undefined) {
    serveObservedJobs(options.observed.jobs, call).catch(() => response.destroy());
  } else {
    response.writeHead(404, { 'content-type': 'text/plain' });
    response.end(`there is ${REPORT_PATH}, ${SERIES_PATH}, ${STACKS_PATH} and ${KEPT_LOGS_PATH}\n`);
  }
}

/** A key that is the same for the TCP and the TLS socket of a connection. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?')[0] ?? '';
}

function unreachableOf(request: IncomingMessage): string | undefined {
  const header = request.headers[UNREACHABLE_LEADER_HEADER];
  return typeof header === 'string' ? header : undefined;
}

function bearerOf(request: IncomingMessage): string | undefined {
  const [, token] = /^Bearer ([A-Za-z0-9._~+/=-]{1,8192})$/i.exec(request.headers.authorization ?? '') ?? [];
  return token;
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8');
}

function listening(server: Server, options: ReportServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.listenPort, options.listenHost, () => {
      server.off('error', reject);
      server.on('error', () => undefined);
      resolve();
    });
  });
}
