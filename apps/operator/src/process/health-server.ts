import { createServer } from 'node:http';
import { listenHttp, type HttpListener, type ListenAddress } from './http-listener.ts';

/** Source of the answers to probes. */
export interface HealthSource {
  /** Why this process no longer works and must be restarted; empty while it is alive. */
  hungReasons(): readonly string[];
  /** Why this replica is not ready; empty if it is. Independent of leadership. */
  unreadyReasons(): readonly string[];
}

/** Serves `/healthz` and `/readyz`, and nothing else. Rejects when the port is taken. */
export async function startHealthServer(source: HealthSource, listen: ListenAddress): Promise<HttpListener> {
  const server = createServer((request, response) => {
    const answer = (status: number, body: string): void => {
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(body);
    };
    const path = (request.url ?? '/').split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, 'only GET is answered here\n');
    if (path !== '/healthz' && path !== '/readyz') {
      return answer(404, 'there is /healthz and /readyz; metrics have a port of their own\n');
    }
    const reasons = path === '/healthz' ? source.hungReasons() : source.unreadyReasons();
    return reasons.length === 0 ? answer(200, 'ok\n') : answer(503, `${reasons.join('\n')}\n`);
  });
  return listenHttp(server, listen);
}
