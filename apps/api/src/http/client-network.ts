import { isIPv6 } from 'node:net';

/** Groups of an IPv6 address that name the network of one client: /64. */
const NETWORK_GROUPS = 4;

/** Whom an address belongs to, for bounds by client: the address, and of IPv6 the network of /64, because a client chooses the rest of its address. */
export function clientNetwork(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return address;
  const [before = '', after] = plain.toLowerCase().split('::');
  const head = before === '' ? [] : before.split(':');
  const tail = after === undefined || after === '' ? [] : after.split(':');
  // An address that ends like IPv4 has one group fewer.
  const groups = 8 - (plain.includes('.') ? 1 : 0);
  const zeros =
    after === undefined ? [] : Array.from({ length: Math.max(0, groups - head.length - tail.length) }, () => '0');
  const network = [...head, ...zeros, ...tail]
    .slice(0, NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
