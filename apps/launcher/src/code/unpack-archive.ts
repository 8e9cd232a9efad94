import { createHash } from 'node:crypto';
import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, posix, sep } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { CODE_LIMITS } from '@coxswain/api-types';
import { readTar, TarError, type TarEntry } from './read-tar.ts';

const decompress = promisify(gunzip);

/** Limits other than those of the product, for tests. */
type UnpackLimits = Readonly<Record<'unpackedBytes' | 'entries', number>>;

/** An archive that must not be unpacked. Another try would find the same. */
export class UnusableArchiveError extends Error {}

/**
 * Unpacks an archive into `directory`. Nothing is written outside of it: a path with `..` is refused, links are made last, so no file is written through one, and
 * a link that leads outside is refused. Throws UnusableArchiveError for an archive that can never be unpacked.
 */
export async function unpackArchive(
  archive: Uint8Array,
  {
    sha256,
    directory,
    limits = CODE_LIMITS,
  }: { readonly sha256: string; readonly directory: string; readonly limits?: UnpackLimits },
): Promise<{ readonly files: number }> {
  const found = createHash('sha256').update(archive).digest('hex');
  if (found !== sha256)
    throw new UnusableArchiveError(`it has other bytes than were uploaded: its SHA-256 is ${found}`);
  const entries = entriesOf(await decompressed(archive, limits.unpackedBytes), limits.entries);
  await mkdir(directory, { recursive: true });
  for (const { kind, path } of entries)
    if (kind === 'directory') await mkdir(join(directory, path), { recursive: true });
  for (const { kind, path, isExecutable, content } of entries) {
    if (kind !== 'file') continue;
    await mkdir(join(directory, dirname(path)), { recursive: true });
    await writeFile(join(directory, path), content, { flag: 'wx', mode: isExecutable ? 0o755 : 0o644 });
  }
  await makeLinks(entries, directory);
  return { files: entries.filter(({ kind }) => kind === 'file').length };
}

/** A bomb ends at the limit, before it takes memory. */
async function decompressed(archive: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  try {
    return await decompress(archive, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new UnusableArchiveError(`its files have more than ${maxBytes} bytes`);
    throw new UnusableArchiveError(`it is no gzip file: ${(error as Error).message}`);
  }
}

function entriesOf(tar: Uint8Array, maxEntries: number): readonly TarEntry[] {
  const entries: TarEntry[] = [];
  const paths = new Set<string>();
  try {
    for (const entry of readTar(tar)) {
      const path = pathInside(entry.path);
      if (path === '.') continue;
      if (entry.kind !== 'directory' && paths.has(path)) throw new TarError(`it holds ${path} twice`);
      paths.add(path);
      entries.push({ ...entry, path });
      if (entries.length > maxEntries) throw new TarError(`it holds more than ${maxEntries} files and directories`);
    }
  } catch (error) {
    if (error instanceof TarError) throw new UnusableArchiveError(error.message);
    throw error;
  }
  return entries;
}

/** The path without `.` and slashes at its end. Throws TarError if it leads outside. */
function pathInside(path: string): string {
  const normal = posix.normalize(path).replace(/\/+$/, '');
  if (path === '' || path.includes('\0') || isOutside(normal))
    throw new TarError(`${JSON.stringify(path)} leads outside of the working directory`);
  return normal;
}

function isOutside(path: string): boolean {
  return posix.isAbsolute(path) || path === '..' || path.startsWith('../');
}

async function makeLinks(entries: readonly TarEntry[], directory: string): Promise<void> {
  const links = entries.filter(({ kind }) => kind === 'link');
  for (const { path, target } of links) {
    if (posix.isAbsolute(target) || isOutside(posix.normalize(posix.join(posix.dirname(path), target))))
      throw new UnusableArchiveError(`the link ${path} leads outside of the working directory, to ${target}`);
    const parent = await realpath(join(directory, posix.dirname(path))).catch(() => undefined);
    if (parent === undefined) await mkdir(join(directory, posix.dirname(path)), { recursive: true });
    else await requireInside(parent, path, directory);
    await symlink(target, join(directory, path));
  }
  // By way of another link, a link can lead outside although its own text does not.
  for (const { path } of links) {
    const end = await realpath(join(directory, path)).catch(() => undefined);
    if (end !== undefined) await requireInside(end, path, directory);
  }
}

async function requireInside(end: string, path: string, directory: string): Promise<void> {
  const root = await realpath(directory);
  if (end !== root && !end.startsWith(root + sep))
    throw new UnusableArchiveError(`the link ${path} leads outside of the working directory, to ${end}`);
}
