import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Lets every user read the files of a folder, and run those that their owner may run. Images run as a user that owns nothing in them, and the
 * builder's umask may deny access to others. Only root may write.
 */
export function makeReadable(path: string): void {
  const entry = lstatSync(path);
  if (entry.isSymbolicLink()) return;
  chmodSync(path, entry.isDirectory() || (entry.mode & 0o100) !== 0 ? 0o755 : 0o644);
  if (entry.isDirectory()) for (const name of readdirSync(path)) makeReadable(join(path, name));
}
