import { compareReleases } from './compare-releases.ts';

describe('which of two releases is newer', () => {
  it.each<[string, 'before' | 'after' | 'same as', string]>([
    ['0.1.0', 'before', '0.2.0'],
    ['0.10.0', 'after', '0.9.9'],
    ['1.0.0', 'after', '0.99.99'],
    ['0.2.0', 'same as', 'v0.2.0'],
    ['0.2.0', 'same as', '0.2.0+build.7'],
    ['0.2.0-rc.1', 'before', '0.2.0'],
    ['0.2.0-rc.2', 'before', '0.2.0-rc.10'],
    ['', 'before', '0.0.1'],
    ['nonsense', 'before', '0.0.1'],
  ])('%s is %s %s', (a, relation, b) => {
    const want = { before: -1, after: 1, 'same as': 0 }[relation];
    expect([Math.sign(compareReleases(a, b)), Math.sign(compareReleases(b, a))]).toEqual([want, 0 - want]);
  });
});
