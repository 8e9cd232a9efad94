import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Where a server listens. */
export interface ListenAddress {
  readonly listenHost: string;
  readonly listenPort: number;
}

/** A plain HTTP port of this process. */
export interface HttpListener {
  readonly port: number;
  stop(): Promise<void>;
}

/** Opens the port of a server. Rejects when the port is taken. */
export async function listenHttp(server: Server, { listenHost, listenPort }: ListenAddress): Promise<HttpListener> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listenPort, listenHost, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
