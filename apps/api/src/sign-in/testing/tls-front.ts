import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAuthority } from '@coxswain/local-cluster';

/** What stands before the API where it is installed: it speaks TLS, and passes on what comes. */
export interface TlsFront {
  readonly url: string;
  /** Where it passes requests on to. */
  passTo(url: string): void;
  close(): Promise<void>;
}

/** On a free port of loopback, by a certificate that no browser trusts. */
export async function startTlsFront(): Promise<TlsFront> {
  let target: URL | undefined;
  const { certPem: cert, keyPem: key } = await (
    await createAuthority('front')
  ).issue({
    commonName: 'localhost',
    hosts: ['localhost'],
  });
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    if (target === undefined) return void outgoing.writeHead(502).end();
    const { method, url: path, headers } = incoming;
    const passed = request({ host: target.hostname, port: target.port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    passTo: (url) => (target = new URL(url)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
