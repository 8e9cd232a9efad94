/** A cluster that has nothing but one pod’s log in each namespace: logs are read through the Kubernetes API. All else is not there just now. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { stringify } from 'yaml';

const LINE_MS = 100;

/** Starts it and writes a kubeconfig that leads there; gives a function that ends it. */
export async function startClusterOfLogs(
  kubeconfigPath: string,
  logOf: (namespace: string) => string,
): Promise<() => Promise<void>> {
  const server = createServer((request, answer) => {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const [, namespace = '', rest = ''] = /^\/api\/v1\/namespaces\/([^/]+)\/pods(.*)$/.exec(path) ?? [];
    if (path === '/version') {
      answer.end(JSON.stringify({ major: '1', minor: '34', gitVersion: 'v1.34.0' }));
    } else if (namespace !== '' && rest === '') {
      answer.setHeader('content-type', 'application/json');
      const pod = { metadata: { name: 'pod', namespace, uid: 'pod', resourceVersion: '1' } };
      answer.end(
        JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [pod] }),
      );
    } else if (rest === '/pod/log') {
      answer.write(logOf(namespace));
      if (!query.includes('follow=true')) return void answer.end();
      const writing = setInterval(() => answer.write(logOf(namespace)), LINE_MS);
      answer.on('close', () => clearInterval(writing));
    } else {
      answer.statusCode = 503;
      answer.end(
        JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'ServiceUnavailable', code: 503, message: 'away' }),
      );
    }
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const named = (name: string, rest: object): object => ({ name, ...rest });
  writeFileSync(
    kubeconfigPath,
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'logs',
      clusters: [named('logs', { cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } })],
      users: [named('logs', { user: {} })],
      contexts: [named('logs', { context: { cluster: 'logs', user: 'logs' } })],
    }),
  );
  return async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
}
