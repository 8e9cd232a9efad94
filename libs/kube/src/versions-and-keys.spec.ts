import fc from 'fast-check';
import { keyOf, splitKey } from './kube-object.ts';
import { resourcePath } from './paths.ts';
import { compareResourceVersions, newerResourceVersion } from './resource-version.ts';

const version = fc.bigInt({ min: 0n, max: 2n ** 80n });

describe('resource versions', () => {
  it.each([
    ['9', '10', -1],
    ['10', '9', 1],
    ['10', '10', 0],
    ['18446744073709551615', '18446744073709551616', -1],
  ])('%s and %s are ordered as numbers, however long: %s', (a, b, want) => {
    expect(Math.sign(compareResourceVersions(a, b) ?? Number.NaN)).toBe(want);
  });

  it.each([
    [undefined, '1'],
    ['1', undefined],
    ['', '1'],
    ['01', '1'],
    ['-1', '1'],
    ['1.5', '1'],
    ['abc', '1'],
  ])('%s and %s allow no conclusion', (a, b) => {
    expect(compareResourceVersions(a, b)).toBeUndefined();
  });

  it('are ordered as big integers are', () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        const want = a < b ? -1 : a > b ? 1 : 0;
        expect(Math.sign(compareResourceVersions(String(a), String(b)) ?? Number.NaN)).toBe(want);
        expect(newerResourceVersion(String(a), String(b))).toBe(String(a > b ? a : b));
      }),
    );
  });

  it.each([
    [undefined, '5', '5'],
    ['5', undefined, '5'],
    ['5', 'garbage', '5'],
    ['garbage', '5', '5'],
    [undefined, undefined, undefined],
  ])('the newer of %s and %s is the one that is a number: %s', (a, b, want) => {
    expect(newerResourceVersion(a, b)).toBe(want);
  });
});

describe('keys', () => {
  it.each([
    [{ namespace: 'research', name: 'tiny' }, 'research/tiny'],
    [{ name: 'node-a' }, 'node-a'],
    [{ namespace: '', name: 'node-a' }, 'node-a'],
  ])('%j is %s', (metadata, want) => {
    expect(keyOf({ metadata })).toBe(want);
  });

  it('give back what they were made of', () => {
    expect([splitKey('research/tiny'), splitKey('node-a')]).toEqual([
      { namespace: 'research', name: 'tiny' },
      { name: 'node-a' },
    ]);
  });
});

describe('paths', () => {
  it.each([
    [{ group: '', version: 'v1', plural: 'pods' }, '/api/v1/pods'],
    [{ group: '', version: 'v1', plural: 'pods', namespace: 'n', name: 'p' }, '/api/v1/namespaces/n/pods/p'],
    [{ group: '', version: 'v1', plural: 'nodes', name: 'a' }, '/api/v1/nodes/a'],
    [
      { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespace: 'n', name: 'l' },
      '/apis/coordination.k8s.io/v1/namespaces/n/leases/l',
    ],
    [
      { group: '', version: 'v1', plural: 'pods', namespace: 'n', name: '../secrets' },
      '/api/v1/namespaces/n/pods/..%2Fsecrets',
    ],
  ])('of %j is %s', (address, want) => {
    expect(resourcePath(address)).toBe(want);
  });

  it.each(['', '.', '..'])('refuse the part "%s", which would lead elsewhere', (name) => {
    const address = { group: '', version: 'v1', plural: 'pods', namespace: 'n', name };
    expect(() => resourcePath(address)).toThrow(/a resource path cannot hold the part/);
  });
});
