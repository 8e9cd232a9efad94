import { addressJudge } from './address-rules.ts';

const judge = addressJudge([]);

describe('an address', () => {
  it.each<[string, string]>([
    ['this machine', '127.0.0.1'],
    ['this machine, by another of its addresses', '127.8.9.10'],
    ['any address of this machine', '0.0.0.0'],
    ['a private network', '10.0.0.5'],
    ['a private network', '172.16.0.1'],
    ['a private network', '172.31.255.255'],
    ['a private network', '192.168.1.1'],
    ['a carrier’s network', '100.64.0.1'],
    ['a metadata service', '169.254.169.254'],
    ['a metadata service of ECS', '169.254.170.2'],
    ['a metadata service of Alibaba', '100.100.100.200'],
    ['a test network', '198.18.0.1'],
    ['documentation', '192.0.2.1'],
    ['documentation', '203.0.113.9'],
    ['multicast', '224.0.0.1'],
    ['everybody', '255.255.255.255'],
    ['what is reserved', '240.0.0.1'],
    ['this machine', '::1'],
    ['no address', '::'],
    ['the link', 'fe80::1'],
    ['the link, with a zone', 'fe80::1%eth0'],
    ['a unique local network', 'fd00:ec2::254'],
    ['IPv4 in IPv6', '::ffff:10.0.0.1'],
    ['IPv4 in IPv6, in hexadecimals', '::ffff:7f00:1'],
    ['public IPv4 in IPv6', '::ffff:8.8.8.8'],
    ['IPv4 behind NAT64', '64:ff9b::a00:1'],
    ['IPv4 behind 6to4', '2002:7f00:1::'],
    ['Teredo', '2001:0:53aa:64c::1'],
    ['documentation', '2001:db8::1'],
    ['multicast', 'ff02::1'],
    ['a name', 'localhost'],
    ['nothing', ''],
  ])('of %s is refused: %s', (_what, address) => {
    expect(judge(address)).toBe(false);
  });

  it.each(['8.8.8.8', '172.15.255.255', '172.32.0.1', '100.128.0.1', '223.255.255.255', '2606:4700::1111', '2a00::1'])(
    'of the internet may be called: %s',
    (address) => expect(judge(address)).toBe(true),
  );

  it.each<[readonly string[], string, boolean]>([
    [['10.1.0.0/16'], '10.1.2.3', true],
    [['10.1.0.0/16'], '10.2.0.1', false],
    [['10.1.0.0/16'], '127.0.0.1', false],
    [['127.0.0.1/32'], '127.0.0.1', true],
    [['127.0.0.1/32'], '127.0.0.2', false],
    // The same address in another writing.
    [['127.0.0.1/32'], '::ffff:127.0.0.1', true],
    [['127.0.0.1/32'], '::ffff:127.0.0.2', false],
    [['fd00::/8'], 'fd12::1', true],
    [['fd00::/8'], 'fe80::1', false],
    [['10.1.0.0/16'], '8.8.8.8', true],
  ])('where an administrator allows %j, %s: %s', (ranges, address, want) => {
    expect(addressJudge(ranges)(address)).toBe(want);
  });
});
