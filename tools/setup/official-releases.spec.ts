import type { BinaryName } from '@coxswain/local-cluster';
import { expectedSum, officialRelease, type Release } from './official-releases.ts';

const SUM = 'a'.repeat(64);
const OTHER = 'b'.repeat(64);

describe('official releases', () => {
  it.each([
    ['a bare sum', 'kubectl', SUM, SUM],
    [
      'a list of files',
      'etcd',
      `${OTHER}  etcd-v3.6.8-darwin-amd64.zip\n${SUM}  etcd-v3.6.8-linux-amd64.tar.gz\n`,
      SUM,
    ],
    ['a sum with a binary marker', 'helm', `${SUM} *helm-v4.3.1-linux-amd64.tar.gz\n`, SUM],
    [
      'a release record',
      'kwok',
      JSON.stringify({ assets: [{ name: 'kwok-linux-amd64', digest: `sha256:${SUM}` }] }),
      SUM,
    ],
    ['a list without our file', 'etcd', `${OTHER}  etcd-v3.6.8-darwin-amd64.zip\n`, undefined],
    ['a web page instead of a sum', 'kubectl', '<html>Please log in</html>', undefined],
    ['a release record without digests', 'kwok', JSON.stringify({ assets: [{ name: 'kwok-linux-amd64' }] }), undefined],
  ] as const)('reads the checksum from %s', (_, name, text, expected) => {
    expect(expectedSum(releaseOf(name), text)).toBe(expected);
  });
});

it.each(['gofakes3', 'jobset', 'kueue', 'promtool', 'training-operator', 'versitygw'] as const)(
  'names no download of %s, which is built from its module',
  (name) => {
    expect(officialRelease(name, 'amd64')).toBeUndefined();
  },
);

function releaseOf(name: BinaryName): Release {
  const release = officialRelease(name, 'amd64');
  if (release === undefined) throw new Error(`${name} has no release`);
  return release;
}
