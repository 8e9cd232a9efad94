import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const directories = new Set<string>();

/** A new directory that is removed when this process exits, for files that are not needed after it. */
export function temporaryDirectory(name: string): string {
  if (directories.size === 0) process.once('exit', removeAll);
  const directory = mkdtempSync(join(tmpdir(), `coxswain-${name}-`));
  directories.add(directory);
  return directory;
}

function removeAll(): void {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
}
