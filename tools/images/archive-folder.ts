import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';

/**
 * Writes what a folder holds to a tar archive whose bytes follow from names and contents alone: one order, one owner, modes without the umask, and
 * `seconds` (since 1970) as the time of every entry.
 */
export async function archiveFolder(folder: string, archive: string, seconds = 0): Promise<void> {
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'];
  const always = ['--sort=name', '--format=gnu', `--mtime=@${seconds}`, ...owner];
  await promisify(execFile)('tar', ['-cf', archive, ...always, '-C', folder, '--', ...readdirSync(folder).sort()]);
}
