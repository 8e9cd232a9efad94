import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Takes the API server away with every default controller on, and looks whether each rank goes on and nothing is charged (argument: minutes, 15).';

/** Resolves with true when the gang after the outage is the gang before it. */
export async function run(args: readonly string[]): Promise<boolean> {
  const program = join(import.meta.dirname, '../../apps/operator/src/testing/outage-campaign.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
