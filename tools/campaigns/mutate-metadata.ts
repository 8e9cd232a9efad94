import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Checkpoints of every fixture with one file changed, verified without a crash, a hang or growth (arguments: 100000 saves, seed 0).';

/** Resolves with true when every save had a verdict, each soon, and memory stayed bounded. */
export async function run(args: readonly string[]): Promise<boolean> {
  const program = join(import.meta.dirname, '../../libs/checkpoint/bench/mutate-metadata.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
