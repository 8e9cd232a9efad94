import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { unitTestArguments } from './parts.ts';
import { ROOT } from './run-supervised.ts';

/**
 * Runs the unit tests whose path contains one of `filters`, and again whenever a source or a test changes, until it is ended (`q`, or Ctrl-C). Vitest
 * has the terminal to itself, so its keys work. Resolves with its exit code.
 */
export async function watchUnitTests(filters: readonly string[]): Promise<number> {
  const args = unitTestArguments(['--passWithNoTests', ...filters], 'watch');
  const vitest = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  process.once('exit', () => vitest.kill());
  const [code] = (await once(vitest, 'exit')) as [number | null];
  return code ?? 1;
}
