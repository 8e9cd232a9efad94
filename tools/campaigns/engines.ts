import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ensureSetup } from '../setup/ensure-setup.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'TorchTitan, DeepSpeed and ft_launcher as their projects release them, on CPU ranks through the whole control plane, and what their options do (twelve minutes; argument: a word of the runs to make).';

/** Resolves with true when every run was as it should be. */
export async function run(args: readonly string[]): Promise<boolean> {
  await ensureSetup({ only: ['upstream-engines'] });
  const program = join(import.meta.dirname, '../../e2e/engines/campaign.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}
