import { createHash } from 'node:crypto';
import { chmodSync, createWriteStream, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { expectedSum, type Release } from './official-releases.ts';
import { runCommand } from './run-command.ts';

/** Long enough for a slow line to answer, short enough not to be noticed where the host is out of reach. */
const CONNECT_MS = 4_000;
const DOWNLOAD_MS = 10 * 60_000;

/** The sum that the project publishes for a release; undefined when its host does not answer, quickly, with one. */
export async function publishedSum(release: Release): Promise<string | undefined> {
  try {
    const answer = await fetch(release.checksum.url, { signal: AbortSignal.timeout(CONNECT_MS) });
    return answer.ok ? expectedSum(release, await answer.text()) : undefined;
  } catch {
    return undefined; // Out of reach: there are other ways to get the program.
  }
}

/** Puts the program of `release` at `target`. Rejects, and leaves nothing, when its bytes are not those of `sum`. */
export async function download(release: Release, sum: string, target: string): Promise<void> {
  const unverified = `${target}.unverified`;
  try {
    const answer = await fetch(release.url, { signal: AbortSignal.timeout(DOWNLOAD_MS) });
    if (!answer.ok || answer.body === null) {
      throw new Error(`${release.url} answered ${answer.status}`);
    }
    const hash = createHash('sha256');
    const hashing = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        done(null, chunk);
      },
    });
    await pipeline(Readable.fromWeb(answer.body as ReadableStream), hashing, createWriteStream(unverified));
    const got = hash.digest('hex');
    if (got !== sum) {
      throw new Error(`${release.url} has SHA-256 ${got}, but ${sum} is the one that it is to have; not used`);
    }
    await unpack(release, unverified, target);
  } finally {
    rmSync(unverified, { force: true });
  }
  chmodSync(target, 0o755);
}

async function unpack(release: Release, archive: string, target: string): Promise<void> {
  if (release.member === undefined) {
    renameSync(archive, target);
    return;
  }
  const folder = `${target}.unpacked`;
  await runCommand({
    name: `unpack ${release.member}`,
    command: 'sh',
    args: ['-c', 'mkdir -p "$1" && tar -xzf "$2" -C "$1" "$3"', 'sh', folder, archive, release.member],
  });
  renameSync(join(folder, release.member), target);
  rmSync(folder, { recursive: true, force: true });
}
