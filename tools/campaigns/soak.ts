import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'The whole system for an hour under kills of all its parts, lost watches and a database that is away, with an auditor beside it (arguments: minutes, seed).';

/** Resolves with true when no rule was broken and every job ended well. */
export async function run(args: readonly string[]): Promise<boolean> {
  const program = join(import.meta.dirname, '../../e2e/soak/soak.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
