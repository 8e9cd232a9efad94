/** What did somebody else’s fuzzer ask, and what was it answered? It is sent through here, where every answer is looked at. */
import { createServer, request as sendRequest } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Findings } from './findings.ts';
import type { Operation } from './requests.ts';

/** A server in front of the API. */
export interface Relay {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts it. Answers are read whole before they are passed on: there are no streams here. */
export async function startRelay(
  upstream: string,
  { findings, operations }: { readonly findings: Findings; readonly operations: readonly Operation[] },
): Promise<Relay> {
  const target = new URL(upstream);
  const known = operations
    .toSorted((a, b) => a.template.split('{').length - b.template.split('{').length)
    .map(({ name, method, template }) => ({
      name,
      method,
      pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}/?$`),
    }));
  const server = createServer((asked, answer) => {
    const path = (asked.url ?? '').split('?')[0] ?? '';
    const method = asked.method ?? 'GET';
    const operation = known.find((one) => one.method === method && one.pattern.test(path))?.name ?? 'no operation';
    const forwarded = sendRequest(
      { host: target.hostname, port: target.port, method, path: asked.url, headers: asked.headers },
      (got) => {
        const chunks: Buffer[] = [];
        got.on('data', (chunk: Buffer) => chunks.push(chunk));
        got.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const status = got.statusCode ?? 0;
          findings.see({
            operation,
            status,
            text,
            asked: `${method} ${asked.url ?? ''} (public fuzzer)`,
            asker: 'Schemathesis',
            maySeeCanary: false,
          });
          answer.writeHead(status, got.headers);
          answer.end(Buffer.concat(chunks));
        });
      },
    );
    forwarded.on('error', (error) => {
      findings.violate(`no answer to ${method} ${asked.url ?? ''}: ${error.message}`);
      answer.destroy();
    });
    asked.pipe(forwarded);
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
