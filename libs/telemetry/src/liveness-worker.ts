import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { type Heartbeat, livenessProblems } from './liveness-verdict.ts';

/** What the thread is started with. */
export interface LivenessThreadStart {
  readonly listenHost: string;
  readonly listenPort: number;
  readonly maxStallMs: number;
  readonly first: Heartbeat;
}

/** More close the oldest: a kubelet opens one each time, and anybody may reach the port. */
const MAX_CONNECTIONS = 64;
const CONNECTION_MS = 5_000;

const { listenHost, listenPort, maxStallMs, first } = workerData as LivenessThreadStart;
let last = first;
let lastAtMs = performance.now();

parentPort?.on('message', (beat: Heartbeat) => {
  last = beat;
  lastAtMs = performance.now();
});

const server = createServer((request, response) => {
  const path = (request.url ?? '/').split('?')[0];
  const isKnown = path === '/healthz' && (request.method === 'GET' || request.method === 'HEAD');
  const problems = livenessProblems({ last, silentMs: performance.now() - lastAtMs, maxStallMs });
  const status = isKnown ? (problems.length === 0 ? 200 : 503) : 404;
  const text = isKnown
    ? ['ok', ...problems].slice(problems.length === 0 ? 0 : 1).join('\n')
    : 'only GET /healthz is here';
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(`${text}\n`);
});
boundConnections(server);
server.listen(listenPort, listenHost, () => parentPort?.postMessage({ port: (server.address() as AddressInfo).port }));

function boundConnections(bounded: Server): void {
  const open = new Set<Socket>();
  bounded.on('connection', (socket) => {
    open.add(socket);
    socket.setTimeout(CONNECTION_MS, () => socket.destroy());
    socket.once('close', () => open.delete(socket));
    const [oldest] = open;
    if (open.size > MAX_CONNECTIONS) oldest?.resetAndDestroy();
  });
}
