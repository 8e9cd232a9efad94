import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Lets everybody read what lies in a folder, and start what its owner may start: images run as a user that owns nothing in them, and whoever builds them may have
 * a umask that lets nobody in. Nobody but root may write.
 */
export function makeReadable(path: string): void {
  const entry = lstatSync(path);
  if (entry.isSymbolicLink()) return;
  chmodSync(path, entry.isDirectory() || (entry.mode & 0o100) !== 0 ? 0o755 : 0o644);
  if (entry.isDirectory()) for (const name of readdirSync(path)) makeReadable(join(path, name));
}
