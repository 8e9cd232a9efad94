import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Stands for every address of the machine, of whichever family it has. */
export const EVERY_ADDRESS = '*';

/**
 * What to listen on for `host`, where `*` is every address: `::`, which takes IPv4 too, unless the machine has no IPv6 at all (a kernel that has it switched off
 * refuses to listen on `::`).
 */
export function listenHostOf(host: string, interfaces: typeof networkInterfaces = networkInterfaces): string {
  if (host !== EVERY_ADDRESS) return host;
  const addresses = Object.values(interfaces()).flatMap((one) => one ?? []);
  return addresses.some(({ family }) => family === 'IPv6') ? '::' : '0.0.0.0';
}

/** The authority of a URL at that address or name: an address of IPv6 stands in brackets. */
export function urlHostOf(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}
