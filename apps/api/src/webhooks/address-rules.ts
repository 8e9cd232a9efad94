/** Which addresses may messages be sent to? */
import { BlockList, isIP } from 'node:net';

/** Of IPv4, what is not of the public internet: https://www.iana.org/assignments/iana-ipv4-special-registry, multicast, and what is reserved. */
const NOT_PUBLIC_IPV4: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Metadata services of clouds are here.
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];

/** Of IPv6 only this is given out to the internet; loopback, link-local, unique local, mapped IPv4 and NAT64 are outside of it. */
const PUBLIC_IPV6 = '2000::/3';
/** What of it leads elsewhere: Teredo and its neighbours, documentation, and 6to4, which holds any address of IPv4. */
const NOT_PUBLIC_IPV6: readonly string[] = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const notPublicIpv4 = rangesOf(NOT_PUBLIC_IPV4);
const publicIpv6 = rangesOf([PUBLIC_IPV6]);
const notPublicIpv6 = rangesOf(NOT_PUBLIC_IPV6);

/** Judges addresses: a public one may be called, and whatever the administrator’s ranges (`10.1.0.0/16`, `fd00::/8`) name. */
export function addressJudge(allowedRanges: readonly string[]): (address: string) => boolean {
  const allowed = rangesOf(allowedRanges);
  return (address) => isInside(allowed, address) || isPublic(address);
}

function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !isInside(notPublicIpv4, address);
  return isInside(publicIpv6, address) && !isInside(notPublicIpv6, address);
}

/** False for what is no address, and for one with a zone (`fe80::1%eth0`). */
function isInside(ranges: BlockList, address: string): boolean {
  const version = isIP(address);
  if (version === 0 || address.includes('%')) return false;
  return ranges.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

function rangesOf(texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of texts) {
    const [address = '', bits = ''] = text.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}
