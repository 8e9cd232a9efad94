import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** All addresses of the machine, IPv4 and IPv6. */
export const EVERY_ADDRESS = '*';

/**
 * The address to listen on for `host`. For `*` it is `::`, which accepts IPv4 too, unless the machine has no IPv6: a kernel without it cannot listen on
 * `::`.
 */
export function listenHostOf(host: string, interfaces: typeof networkInterfaces = networkInterfaces): string {
  if (host !== EVERY_ADDRESS) return host;
  const addresses = Object.values(interfaces()).flatMap((one) => one ?? []);
  return addresses.some(({ family }) => family === 'IPv6') ? '::' : '0.0.0.0';
}

/** The host part of a URL for an address or name, with brackets around an IPv6 address. */
export function urlHostOf(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}
