import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { jestArguments } from './parts.ts';
import { ROOT } from './run-supervised.ts';

/**
 * Runs the unit tests whose path contains one of `filters`, and again whenever a source or a test changes, until it is ended (`q`, or Ctrl-C). Jest
 * has the terminal to itself, so its keys work. Resolves with Jest's exit code.
 */
export async function watchUnitTests(filters: readonly string[]): Promise<number> {
  // All that match, not those that git says were changed: that would need a repository, and miss what a commit has just taken.
  const args = jestArguments(['--watchAll', '--passWithNoTests', ...filters]);
  const jest = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  process.once('exit', () => jest.kill());
  const [code] = (await once(jest, 'exit')) as [number | null];
  return code ?? 1;
}
