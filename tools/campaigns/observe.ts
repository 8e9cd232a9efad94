import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ensureSetup, USUAL_PARTS } from '../setup/ensure-setup.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Jobs of the real controllers of JobSet and PyTorchJob, observed: blame, exit codes, output, loss of all of ours, step time (ten minutes, and five once to build them; argument: a word of the rows).';

/** Resolves with true when every row held. */
export async function run(args: readonly string[]): Promise<boolean> {
  await ensureSetup({ only: [...USUAL_PARTS, 'other-controllers'] });
  const program = join(import.meta.dirname, '../../e2e/observe/campaign.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
