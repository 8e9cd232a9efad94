import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Injects each node fault into one of eight pods, and checks that clean runs blame no node (half an hour; argument: clean runs, 50).';

/** Resolves with true when each fault was named where it was within 60 s, and nobody without one. */
export async function run(args: readonly string[]): Promise<boolean> {
  const program = join(import.meta.dirname, '../../apps/launcher/src/preflight/testing/preflight-campaign.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
