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
  STACKS_PATH,
  UNREACHABLE_LEADER_HEADER,
} from '@coxswain/api-types';
import type { Clock } from '@coxswain/kube';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import type { KeyPair } from './authority.ts';
import { fairShareOf, type FairShare } from './fair-share.ts';
import { ReportSession } from './report-session.ts';
import type { SessionContext } from './session-ports.ts';
import { serveSeries, type SeriesAccess } from './series-stream.ts';
import { serveStacks, type StacksAccess } from './serve-stacks.ts';
import { Throttle } from './throttle.ts';
import { cutOffUnlessRead, sendTo } from './unread-bytes.ts';
import { UnidentifiedPlaces, type UnidentifiedLimits } from './unidentified-places.ts';

/** What the server is made of. */
export interface ReportServerOptions {
  readonly listenHost: string;
  readonly listenPort: number;
  /** Base URL of this replica alone. */
  readonly ownUrl: string;
  readonly serving: KeyPair;
  readonly sessions: SessionContext;
  readonly series: SeriesAccess;
  readonly stacks: StacksAccess;
  readonly clock: Clock;
  /** A connection that says nothing for so long is cut; the launcher comes back. It says nothing about the gang. */
  readonly silenceMs: number;
  readonly unidentified?: UnidentifiedLimits;
}

/** The TLS port for launchers, and for the API's series stream and questions. */
export interface ReportServer {
  readonly port: number;
  /** Connections of launchers now. */
  readonly connections: number;
  /** Serves new connections with another certificate. */
  useCertificate(serving: KeyPair): void;
  stop(): Promise<void>;
}

/**
 * A TLS connection takes 20 to 40 kB outside the heap, which no bound of a thread sees: so many take up to 320 MB, and more would end the whole process
 * at its container's limit. 16,384 GPUs are 2,048 launchers, which may all come anew before their former connections are known to be dead.
 */
const MAX_CONNECTIONS = 8_000;
/** As many as come at once when the leader of 2,048 launchers dies. */
const UNIDENTIFIED: UnidentifiedLimits = { most: 2_048, helloWithinMs: 10_000 };
/** So long may a launcher that was sent away take to read why. */
const PARTING_MS = 5_000;
const PACE_CHECK_MS = 2_000;
/** Of frames of one connection that were read and are not dealt with yet. */
const MAX_WAITING_CHARACTERS = 32_768;

/** Starts the server; rejects when the port is taken. */
export async function startReportServer(options: ReportServerOptions): Promise<ReportServer> {
  const launchers = new Map<WebSocket, ReportSession>();
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
    { cert: options.serving.certPem, key: options.serving.keyPem, minVersion: 'TLSv1.3' },
    (request, response) => route({ options, unidentified }, request, response),
  );
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
    socket.on('error', () => undefined); // A connection that breaks off during its handshake concerns nobody.
    if (![REPORT_PATH, EARLIER_REPORT_PATH].includes(pathOf(request)))
      return void socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n');
    if (launchers.size >= MAX_CONNECTIONS) {
      return void socket.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n');
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      launchers.set(webSocket, attach({ webSocket, request, launchers, unidentified, share: () => share }, options));
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
        // Also those that never came as far as a request.
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
    readonly share: () => FairShare;
  },
  options: ReportServerOptions,
): ReportSession {
  const { webSocket, request, launchers, unidentified, share } = connection;
  const key = keyOf(request.socket);
  const { clock, silenceMs } = options;
  const throttle = new Throttle({ messages: () => share().frames, kilobytes: () => share().kilobytes, clock });
  let cancelParting = (): void => undefined;
  const session = new ReportSession(options.sessions, {
    token: bearerOf(request),
    pace: share().pace,
    unreachable: unreachableOf(request),
    onHello: () => unidentified.recordHello(key),
    onIdentified: () => unidentified.leave(key),
    link: {
      send: (message) => sendTo(webSocket, message),
      close: () => {
        webSocket.close(1000);
        // Who does not close its side holds a connection that nobody counts as its any more.
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
  // One frame at a time. Above a few that wait the socket is not read, so a flood waits in the sender's own buffers; below it is, so that a launcher whose
  // checkpoint takes long to be recorded sees its pings answered.
  let turn = Promise.resolve();
  const deal = async (frame: string): Promise<void> => {
    const waitMs = throttle.take(frame.length);
    if (waitMs > 0) {
      options.sessions.count('slowed');
      await options.sessions.sleep(waitMs);
    }
    await session.receive(frame);
  };
  let waiting = 0;
  webSocket.on('message', (data: RawData, isBinary: boolean) => {
    restartSilence();
    const frame = isBinary ? '' : textOf(data);
    waiting += frame.length;
    if (waiting > MAX_WAITING_CHARACTERS) webSocket.pause();
    turn = turn
      .then(() => deal(frame))
      .catch(() => undefined) // A session never throws; should it, the connection goes on and the frame is lost.
      .finally(() => {
        waiting -= frame.length;
        if (waiting <= MAX_WAITING_CHARACTERS) webSocket.resume();
      });
  });
  // A connection that has not said who it is gets no more time by pinging: places are few, and every tenant needs one.
  webSocket.on('ping', () => {
    if (!cutOffUnlessRead(webSocket) && session.podUid !== undefined) restartSilence();
  });
  webSocket.on('error', () => webSocket.terminate());
  webSocket.on('close', () => {
    cancelSilence();
    cancelParting();
    session.end();
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
  } else {
    response.writeHead(404, { 'content-type': 'text/plain' });
    response.end(`there is ${REPORT_PATH}, ${SERIES_PATH} and ${STACKS_PATH}\n`);
  }
}

/** The same for a connection and for what TLS makes of it. */
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
