import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ROOT } from '../images/image-names.ts';

/**
 * The time of every file in a release, in seconds since 1970: SOURCE_DATE_EPOCH (reproducible-builds.org) if it is set, else that of the commit, so
 * that the same commit gives the same archives.
 */
export async function releaseSeconds(): Promise<number> {
  const given = process.env['SOURCE_DATE_EPOCH'];
  if (given !== undefined && given !== '') {
    if (!/^\d+$/.test(given)) throw new Error(`SOURCE_DATE_EPOCH is a number of seconds since 1970, not "${given}"`);
    return Number(given);
  }
  const { stdout } = await promisify(execFile)('git', ['-C', ROOT, 'log', '-1', '--format=%ct']);
  return Number(stdout);
}
