import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BINARY_VERSIONS, type BinaryName } from '@coxswain/local-cluster';
import { publishedSum } from './download.ts';
import { officialRelease, type Release } from './official-releases.ts';

/** SHA-256 of official downloads by their address: what was published on the day it was written, whatever the host says later. */
const FILE = join(import.meta.dirname, 'official-sums.json');
const ARCHITECTURES = ['amd64', 'arm64'] as const;

/** The sum that this repository names for `release`; undefined while nobody has written it. */
export function committedSum(release: Release): string | undefined {
  return sums()[release.url];
}

/**
 * Writes what every project publishes today for the releases that are pinned, both architectures. Rejects, and writes nothing, where a host does
 * not answer, or where it now publishes another sum for a release that is written already.
 */
export async function writeCommittedSums(): Promise<number> {
  const known = sums();
  const names = Object.keys(BINARY_VERSIONS) as BinaryName[];
  const releases = names.flatMap((name) => ARCHITECTURES.flatMap((arch) => officialRelease(name, arch) ?? []));
  const entries = await Promise.all(
    releases.map(async (release) => {
      const sum = await publishedSum(release);
      if (sum === undefined) throw new Error(`${release.checksum.url} does not answer with the sum of ${release.url}`);
      const before = known[release.url];
      if (before !== undefined && before !== sum) {
        throw new Error(
          `${release.url} was published with SHA-256 ${before}, and now with ${sum}: find out why before anybody runs it`,
        );
      }
      return [release.url, sum] as const;
    }),
  );
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`);
  return entries.length;
}

function sums(): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, string>;
}
