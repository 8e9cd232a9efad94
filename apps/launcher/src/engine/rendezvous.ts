import { once } from 'node:events';
import { createServer, isIPv6, type AddressInfo } from 'node:net';

/** Where rank 0 listens and the others connect. */
export interface RendezvousAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * A port that was free a moment ago. Rank 0 binds it itself, later: if another process takes it first, the engine exits with
 * `rendezvousPortLost` and the epoch is tried again free of charge.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  // Without a host: rank 0 will listen on every address, so the port must be free on every one.
  server.listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** `host:port`, with brackets around an IPv6 address. */
export function formatAddress({ host, port }: RendezvousAddress): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The address in `host:port`, or undefined where it is none. */
export function parseAddress(text: string): RendezvousAddress | undefined {
  const match = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<plain>[A-Za-z0-9.-]+)):(?<port>\d{1,5})$/.exec(text);
  const host = match?.groups?.['v6'] ?? match?.groups?.['plain'];
  const port = Number(match?.groups?.['port']);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}
