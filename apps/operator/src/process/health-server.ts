import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Source of the answers to probes and metric scrapes. */
export interface HealthSource {
  /** Why this process no longer works and must be restarted; empty while it is alive. */
  hungReasons(): readonly string[];
  /** Why this replica is not ready; empty if it is. Independent of leadership. */
  unreadyReasons(): readonly string[];
  exposeMetrics(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** The plain HTTP port for probes and metrics. */
export interface HealthServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Serves `/healthz`, `/readyz` and `/metrics`, and nothing else. Rejects when the port is taken. */
export async function startHealthServer(
  source: HealthSource,
  listen: { readonly listenHost: string; readonly listenPort: number },
): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const answer = (status: number, body: string, contentType = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, { 'content-type': contentType }).end(body);
    };
    const path = (request.url ?? '/').split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, 'only GET is answered here\n');
    if (path === '/healthz' || path === '/readyz') {
      const reasons = path === '/healthz' ? source.hungReasons() : source.unreadyReasons();
      return reasons.length === 0 ? answer(200, 'ok\n') : answer(503, `${reasons.join('\n')}\n`);
    }
    if (path !== '/metrics') return answer(404, 'there is /healthz, /readyz and /metrics\n');
    source.exposeMetrics().then(
      ({ contentType, text }) => answer(200, text, contentType),
      (error: unknown) => answer(500, `metrics could not be collected: ${String(error)}\n`),
    );
  });
  await listening(server, listen);
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, listen: { listenHost: string; listenPort: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen.listenPort, listen.listenHost, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
