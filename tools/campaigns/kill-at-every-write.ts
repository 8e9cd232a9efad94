import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Kills the operator at every write of a job’s life, three ways each, and compares the end with a clean life (40 min; arguments: stride, first).';

/** Resolves with true when every life ended as the clean one and broke no invariant. */
export async function run(args: readonly string[]): Promise<boolean> {
  const program = join(import.meta.dirname, '../../apps/operator/src/testing/kill-campaign.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
