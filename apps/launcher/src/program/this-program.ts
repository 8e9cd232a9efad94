import { isSea } from 'node:sea';

/** How this program starts itself with a subcommand, be it one file or sources. */
export function thisProgram(subcommand: string): readonly [string, ...string[]] {
  const source = isSea() ? [] : [...process.execArgv, ...process.argv.slice(1, 2)];
  return [process.execPath, ...source, subcommand];
}
