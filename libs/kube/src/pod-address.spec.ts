import type { NetworkInterfaceInfo } from 'node:os';
import { listenHostOf, urlHostOf } from './pod-address.ts';

const of = (family: 'IPv4' | 'IPv6'): NetworkInterfaceInfo => ({ family }) as NetworkInterfaceInfo;

describe('the address to listen on', () => {
  it.each<[string, string, NetworkInterfaceInfo[], string]>([
    ['every address, where there are both families', '*', [of('IPv4'), of('IPv6')], '::'],
    ['every address, where there is IPv6 alone', '*', [of('IPv6')], '::'],
    ['every address, where the kernel has no IPv6', '*', [of('IPv4')], '0.0.0.0'],
    ['an address that is named', '127.0.0.1', [of('IPv6')], '127.0.0.1'],
  ])('is of %s', (_sentence, host, addresses, want) => {
    expect(listenHostOf(host, () => ({ eth0: addresses, none: undefined }))).toBe(want);
  });
});

describe('an address in a URL', () => {
  it.each([
    ['10.0.0.7', 'https://10.0.0.7:9443/'],
    ['fd00::7', 'https://[fd00::7]:9443/'],
    ['operator.coxswain-system.svc', 'https://operator.coxswain-system.svc:9443/'],
  ])('%s is written %s', (host, want) => {
    expect(new URL(`https://${urlHostOf(host)}:9443`).href).toBe(want);
  });
});
