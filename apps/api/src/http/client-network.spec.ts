import { clientNetwork } from './client-network.ts';

describe('the client that an address belongs to', () => {
  it.each([
    ['an IPv4 address is its own', '192.0.2.7', '192.0.2.7'],
    ['an IPv6 address belongs to its network', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['another address of that network belongs to the same client', '2001:DB8:1:0002::9', '2001:db8:1:2::/64'],
    ['left-out zeros count', '2001:db8::1', '2001:db8:0:0::/64'],
    ['a zone does not', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['an address that ends like IPv4 belongs to a network', '64:ff9b::192.0.2.33', '64:ff9b:0:0::/64'],
    ['what is no address is taken as it is', 'unknown', 'unknown'],
  ])('%s', (_sentence, address, want) => {
    expect(clientNetwork(address)).toBe(want);
  });
});
