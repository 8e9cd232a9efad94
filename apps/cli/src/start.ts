/** What every program of this package runs first; the sources and the npm package share it. */
import { existsSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { basename, dirname, isAbsolute, join } from 'node:path';

/** Runs the command line of this process. Resolves to its exit code. */
export async function start(): Promise<number> {
  keepCompiled();
  const { main } = await import('./main.ts');
  return main([...impliedWords(), ...process.argv.slice(2)]);
}

/** kubectl runs the program of this name for the words after `kubectl coxswain` when its user presses Tab. */
function impliedWords(): readonly string[] {
  return basename(process.argv[1] ?? '') === 'kubectl_complete-coxswain' ? ['complete', '--'] : [];
}

/**
 * Half of a short command's time is reading its code: what was read once is kept, for the processes that this one starts too. Only where no other user
 * writes: a user that is only a number, as containers have them, has no home, and reads again.
 */
function keepCompiled(): void {
  const { HOME = '', XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env;
  const directory = NODE_COMPILE_CACHE || join(XDG_CACHE_HOME || join(HOME, '.cache'), 'coxswain', 'compiled');
  // What is relative would lie wherever the command is given.
  if (!isAbsolute(directory)) return;
  // A directory that cannot be made is no error.
  if (!isMade(directory)) return;
  module.enableCompileCache(directory);
  process.env['NODE_COMPILE_CACHE'] = directory;
}

/** Makes one folder after the other: Node's own recursive way tries for ever where the parent exists but takes no folders, such as /proc. */
function isMade(directory: string): boolean {
  try {
    if (existsSync(directory)) return true;
    if (!isMade(dirname(directory))) return false;
    mkdirSync(directory, { mode: 0o700 });
    return true;
  } catch {
    return existsSync(directory);
  }
}
